package quorum

import (
	"crypto/sha1" //nolint:gosec // the name that Redis gives a script, not a safeguard
	"encoding/hex"
	"strings"
	"sync"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/quorum/runner"
	"github.com/redfence/redfence/quorum/tally"
)

// scriptCache are the scripts that this proxy knows, by the SHA1 of their text.
type scriptCache struct {
	mu    sync.RWMutex
	texts map[string]*runner.Text
	bytes int
}

// maxScriptBytes bounds the texts that are remembered. Beyond it all are forgotten: clients send them again
// when they are told NOSCRIPT, as they must after a restart of Redis.
const maxScriptBytes = 32 << 20

func (c *scriptCache) get(sha string) *runner.Text {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.texts[sha]
}

func (c *scriptCache) put(text string) *runner.Text {
	t := runner.NewText(strings.Clone(text))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bytes+len(text) > maxScriptBytes {
		clear(c.texts)
		c.bytes = 0
	}
	c.texts[t.SHA] = t
	c.bytes += len(text)
	return t
}

func (c *scriptCache) flush() {
	c.mu.Lock()
	clear(c.texts)
	c.bytes = 0
	c.mu.Unlock()
}

func sha1Hex(text string) string {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:])
}

// evaluates tells whether a request runs a script, and whether it gives its text or its SHA1.
func evaluates(q *commands.Request) (script, bySHA bool) {
	switch q.Spec.Name {
	case "eval", "eval_ro":
		return true, false
	case "evalsha", "evalsha_ro":
		return true, true
	}
	return false, false
}

// lookup is what became of the search for a script: its text, or the error in its place. lost says that the nodes
// could not be asked.
type lookup struct {
	text *runner.Text
	err  resp.Value
	lost bool
}

// findScript learns the text of a request's script, and then calls found.
func (e *Engine) findScript(q *commands.Request, found func(lookup)) {
	_, bySHA := evaluates(q)
	name := strings.ToLower(q.Args[1])
	if !bySHA {
		name = sha1Hex(q.Args[1])
	}
	switch text := e.scripts.get(name); {
	case text != nil:
		found(lookup{text: text})
	case bySHA:
		found(lookup{err: resp.ErrNoScript.Value()})
	default:
		e.learn(q.DB, q.Args[1], found)
	}
}

// evaluateOne serves a request that is a script, not in a transaction.
func (e *Engine) evaluateOne(r *request) {
	e.findScript(r.call.Requests[0], func(l lookup) {
		if l.text == nil {
			r.answer(l.err)
			return
		}
		r.text = l.text
		e.evaluate(r)
	})
}

// evaluate runs a script whose text is known. One that renews several locks, which have nothing to do with one another,
// runs once for each of them, so that each has a vote of its own.
func (e *Engine) evaluate(r *request) {
	switch parts := runner.Split(r.call.Requests[0], r.text); {
	case parts != nil:
		e.each(r, parts, func(replies []resp.Value) { r.answer(runner.Join(replies)) })
	case r.text.StoresTTLs() && len(r.keys) > 0:
		e.inTurn(r, true, func() { e.agreeOnTTL(r) })
	default:
		e.try(r)
	}
}

// agreeOnTTL asks for the TTL of the script's first key before its first attempt, so that all nodes compute with the
// same. Without that the attempt would be lost, put back and repeated, and others could overtake it meanwhile: who
// waits for a fair lock would be queued behind those who came later. It has the turn at that key, so that no other
// such script takes the lock between the two.
func (e *Engine) agreeOnTTL(r *request) {
	q, err := commands.Bind([]string{"PTTL", r.keys[0]}, r.db)
	if err != nil {
		e.try(r)
		return
	}
	e.part(r, q, func(v resp.Value) {
		if v.Kind == resp.Integer && v.Int() > 0 {
			r.ttls = []tally.Reading{{DB: r.db, Key: r.keys[0], TTL: v.Int()}}
		}
		e.try(r)
	})
}

// learn has the nodes compile a text, and remembers it when a majority finds it good.
func (e *Engine) learn(db int, text string, done func(lookup)) {
	e.gather(db, &runner.Check{Text: text}, func(g *gathering) {
		v, ok := g.agreed()
		switch {
		case !ok:
			done(lookup{err: g.tooFew(), lost: true})
		case v.IsErr():
			done(lookup{err: v})
		default:
			done(lookup{text: e.scripts.put(text)})
		}
	})
}

// aboutScripts answers a command about the scripts that this proxy knows, nil when it is none. lost says that the nodes
// could not be asked.
func (e *Engine) aboutScripts(q *commands.Request) func(done func(reply resp.Value, lost bool)) {
	switch q.Spec.Name {
	case "script|load":
		return func(done func(resp.Value, bool)) { e.scriptLoad(q, done) }
	case "script|exists":
		return func(done func(resp.Value, bool)) { done(e.scriptExists(q), false) }
	case "script|flush":
		return func(done func(resp.Value, bool)) { done(e.scriptFlush(q), false) }
	}
	return nil
}

func (e *Engine) scriptLoad(q *commands.Request, done func(reply resp.Value, lost bool)) {
	found := func(l lookup) {
		if l.text == nil {
			done(l.err, l.lost)
			return
		}
		done(resp.Str(l.text.SHA), false)
	}
	text := q.Args[2]
	if t := e.scripts.get(sha1Hex(text)); t != nil {
		found(lookup{text: t})
		return
	}
	e.learn(q.DB, text, found)
}

func (e *Engine) scriptExists(q *commands.Request) resp.Value {
	found := make([]resp.Value, 0, len(q.Args)-2)
	for _, sha := range q.Args[2:] {
		found = append(found, resp.BoolInt(e.scripts.get(strings.ToLower(sha)) != nil))
	}
	return resp.Arr(found...)
}

func (e *Engine) scriptFlush(q *commands.Request) resp.Value {
	if words := q.Args[2:]; len(words) > 1 || len(words) == 1 && !args.FlushMode(words[0]) {
		return resp.ErrScriptFlush.Value()
	}
	e.scripts.flush()
	return resp.OK()
}
