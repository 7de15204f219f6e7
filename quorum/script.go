package quorum

import (
	"crypto/sha1" //nolint:gosec // the name that Redis gives a script, not a safeguard
	"encoding/hex"
	"strings"
	"sync"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/quorum/runner"
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

// findScript learns the text of the request's script, and then goes on, or answers why not. False means that
// it answers later, or has answered.
func (e *Engine) findScript(r *request, goOn func()) {
	q := r.call.Requests[0]
	_, bySHA := evaluates(q)
	if bySHA {
		if r.text = e.scripts.get(strings.ToLower(q.Args[1])); r.text == nil {
			r.answer(resp.ErrNoScript.Value())
			return
		}
		goOn()
		return
	}
	if r.text = e.scripts.get(sha1Hex(q.Args[1])); r.text != nil {
		goOn()
		return
	}
	e.learn(r, q.Args[1], func(v resp.Value) {
		if v.IsErr() {
			r.answer(v)
			return
		}
		r.text = e.scripts.get(v.Str)
		goOn()
	})
}

// evaluate runs a script whose text is known. One that renews several locks, which have nothing to do with one another,
// runs once for each of them, so that each has a vote of its own.
func (e *Engine) evaluate(r *request) {
	parts := runner.Split(r.call.Requests[0], r.text)
	if parts == nil {
		e.try(r)
		return
	}
	e.each(r, parts, func(replies []resp.Value) { r.answer(runner.Join(replies)) })
}

// learn has the nodes compile a text, and remembers it when a majority finds it good. It answers the SHA1, or the
// compile error.
func (e *Engine) learn(r *request, text string, done func(resp.Value)) {
	e.gather(r.db, &runner.Check{Text: text}, func(g *gathering) {
		v, ok := g.agreed()
		switch {
		case !ok:
			done(g.tooFew())
		case v.IsErr():
			done(v)
		default:
			done(resp.Str(e.scripts.put(text).SHA))
		}
	})
}

func (e *Engine) scriptLoad(r *request) {
	text := r.call.Requests[0].Args[2]
	if t := e.scripts.get(sha1Hex(text)); t != nil {
		r.answer(resp.Str(t.SHA))
		return
	}
	e.learn(r, text, r.answer)
}

func (e *Engine) scriptExists(r *request) {
	var found []resp.Value
	for _, sha := range r.call.Requests[0].Args[2:] {
		found = append(found, resp.BoolInt(e.scripts.get(strings.ToLower(sha)) != nil))
	}
	r.answer(resp.Arr(found...))
}

func (e *Engine) scriptFlush(r *request) {
	e.scripts.flush()
	r.answer(resp.OK())
}
