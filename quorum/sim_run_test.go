package quorum

import (
	"slices"
	"strconv"
	"strings"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/fencing"
	"github.com/redfence/redfence/quorum/runner"
	"github.com/redfence/redfence/quorum/tally"
)

// The scripts of the clients. A simulated node knows each by its text.
const (
	scriptUnlock = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end`
	scriptExtend = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) else return 0 end`
	scriptTake   = `local n = tonumber(redis.call('get', KEYS[1])) if n and n >= 1 then redis.call('decr', KEYS[1]) return 1 end return 0`
	scriptGive   = `redis.call('incr', KEYS[1]) return 1`
	scriptRead   = `for _, f in ipairs(redis.call('hkeys', KEYS[1])) do if f:sub(1, 1) == 'w' then return redis.call('pttl', KEYS[1]) end end ` +
		`redis.call('hset', KEYS[1], ARGV[1], 1) redis.call('pexpire', KEYS[1], math.max(redis.call('pttl', KEYS[1]), ARGV[2])) return nil`
	scriptWrite = `if redis.call('exists', KEYS[1]) == 1 then return redis.call('pttl', KEYS[1]) end ` +
		`redis.call('hset', KEYS[1], ARGV[1], 1) redis.call('pexpire', KEYS[1], ARGV[2]) return nil`
	scriptLeave  = `return redis.call('hdel', KEYS[1], ARGV[1])`
	scriptRenews = `local r = {} for i, k in ipairs(KEYS) do if redis.call('get', k) == ARGV[i + 1] then ` +
		`r[i] = redis.call('pexpire', k, ARGV[1]) else r[i] = 0 end end return r`
)

// simTxn is one request while it executes on a node.
type simTxn struct {
	n       *simNode
	run     *runner.Run
	writes  []simWrite
	ttls    []tally.Reading
	isTTL   bool
	isToken bool
}

// simWrite is a key that was written, as it was before.
type simWrite struct {
	key   string
	old   simEntry
	fresh bool // SET gave it another value
	ended bool
}

// run executes a request as the runner does: it answers, and reports what it wrote.
func (n *simNode) run(op *runner.Run, counted bool) *tally.Answer {
	t := &simTxn{n: n, run: op}
	a := &tally.Answer{Ran: true, Quarantined: !counted, Time: n.clock()}
	replies := make([]resp.Value, len(op.Requests))
	for i, r := range op.Requests {
		replies[i] = t.request(r)
	}
	a.Reply = replies[0]
	if op.Block {
		a.Reply = resp.Arr(replies...)
	}
	a.IsTTL, a.IsToken, a.TTLs = t.isTTL, t.isToken, t.ttls
	for i := range t.writes {
		a.Writes = append(a.Writes, t.finish(&t.writes[i]))
	}
	if op.Seen {
		a.Seen = t.seen()
	}
	n.w.book.executed(n, op, a)
	if n.w.bug == bugWholeArrays && a.Reply.Kind == resp.Array {
		a.Reply = resp.Str(show(a.Reply))
	}
	return a
}

func (t *simTxn) seen() []tally.Seen {
	var seen []tally.Seen
	for _, r := range t.run.Requests {
		for _, key := range r.Keys() {
			e := t.n.entry(key)
			seen = append(seen, tally.Seen{Key: key, Version: e.version, Exists: e.value != nil})
		}
	}
	return seen
}

// touch notes a key before its first write.
func (t *simTxn) touch(key string) (*simEntry, *simWrite) {
	e := t.n.entry(key)
	for i := range t.writes {
		if t.writes[i].key == key {
			return e, &t.writes[i]
		}
	}
	t.writes = append(t.writes, simWrite{key: key, old: *e})
	return e, &t.writes[len(t.writes)-1]
}

// finish raises the companion of a written key and reports the write.
func (t *simTxn) finish(w *simWrite) tally.Write {
	e := t.n.entry(w.key)
	e.version = w.old.version.Next(t.run.ID)
	out := tally.Write{
		Key: w.key, Before: w.old.version, After: e.version, Existed: w.old.value != nil, Exists: e.value != nil,
		State: e.value.name(), TTL: t.ttlOf(e), OldToken: w.old.token, ImageEnd: tally.Forever,
	}
	if out.Existed {
		out.Image, out.ImageEnd = w.old.value.name(), w.old.end
	}
	if !out.Exists {
		e.token, e.end = 0, tally.Forever
	} else if !out.Existed || w.fresh {
		e.token = fencing.Next(e.mark, fencing.Token(t.run.Wall))
		e.mark, out.Fresh = e.token, true
	}
	out.Token = e.token
	same := out.Existed && out.Exists && out.State == out.Image
	slack := int64(0)
	if len(t.run.TTLs) > 0 {
		slack = 200 // it may have computed with the TTL of another node
	}
	longer := e.end == tally.Forever || (w.old.end != tally.Forever && e.end+slack >= w.old.end)
	out.Renewal = same && longer && !out.Fresh
	out.Shortened = same && !longer && !w.ended
	out.Ended = w.ended || (out.Existed && !out.Exists) || (same && !longer)
	if t.n.w.bug == bugNoVersions {
		t.n.befores[out.After] = out.Before
		out.Before = tally.Version{}
	}
	return out
}

func (t *simTxn) ttlOf(e *simEntry) int64 {
	if e.value == nil || e.end == tally.Forever {
		return tally.Forever
	}
	return e.end - t.n.ms()
}

// pttl is what PTTL answers: the reading that all nodes share, when it is near enough to the node's own.
func (t *simTxn) pttl(key string) int64 {
	e := t.n.entry(key)
	if e.value == nil {
		return -2
	}
	ttl := t.ttlOf(e)
	for _, r := range t.run.TTLs {
		if r.Key == key && ttl > 0 && r.TTL > 0 && max(ttl-r.TTL, r.TTL-ttl) <= 200 {
			ttl = r.TTL
		}
	}
	t.ttls = append(t.ttls, tally.Reading{Key: key, TTL: ttl})
	return ttl
}

// set writes a key with a TTL in ms.
func (t *simTxn) set(key string, v *simValue, ttl int64) *simWrite {
	e, w := t.touch(key)
	e.value, e.end = v, tally.Forever
	if ttl != tally.Forever {
		e.end = t.n.ms() + ttl
	}
	return w
}

func (t *simTxn) request(r *commands.Request) resp.Value {
	switch r.Spec.Name {
	case "set":
		return t.setCommand(r)
	case "get":
		return t.get(r.Args[1])
	case "fence":
		return t.fence(r.Args[1])
	case "del":
		return t.del(r.Args[1])
	case "eval":
		o := r.Opts.(args.EvalOptions)
		return t.script(r.Args[1], o.Keys, o.Argv)
	}
	panic("a request that simulated nodes do not know: " + strings.Join(r.Args, " "))
}

func (t *simTxn) setCommand(r *commands.Request) resp.Value {
	o := r.Opts.(args.SetOptions)
	key := r.Args[1]
	e := t.n.entry(key)
	if o.When == args.IfAbsent && e.value != nil {
		return resp.Value{}
	}
	ttl, _ := strconv.ParseInt(r.Args[slices.Index(r.Args, "PX")+1], 10, 64)
	other := e.value == nil || e.value.name() != simString(r.Args[2]).name()
	t.set(key, simString(r.Args[2]), ttl).fresh = other
	if o.Fence {
		t.isToken = true
		return resp.Int(int64(fencing.Next(e.mark, fencing.Token(t.run.Wall))))
	}
	return resp.OK()
}

func (t *simTxn) get(key string) resp.Value {
	e := t.n.entry(key)
	if e.value == nil {
		return resp.Value{}
	}
	return resp.Str(e.value.items[0])
}

func (t *simTxn) fence(key string) resp.Value {
	e := t.n.entry(key)
	if e.value == nil || e.token == 0 {
		return resp.Value{}
	}
	return resp.Int(int64(e.token))
}

func (t *simTxn) del(key string) resp.Value {
	if t.n.entry(key).value == nil {
		return resp.Int(0)
	}
	t.set(key, nil, tally.Forever)
	return resp.Int(1)
}

func (t *simTxn) script(text string, keys, argv []string) resp.Value {
	switch text {
	case scriptUnlock:
		if !t.n.entry(keys[0]).value.holds(argv[0]) {
			return resp.Int(0)
		}
		return t.del(keys[0])
	case scriptExtend:
		return resp.Int(t.extend(keys[0], argv[0], argv[1]))
	case scriptRenews:
		return t.extendAll(keys, argv)
	case scriptTake, scriptGive:
		return t.count(text, keys[0])
	case scriptRead, scriptWrite:
		return t.join(text, keys[0], argv)
	case scriptLeave:
		return t.leave(keys[0], argv[0])
	}
	panic("a script that simulated nodes do not know: " + text)
}

func (t *simTxn) extendAll(keys, argv []string) resp.Value {
	var all []resp.Value
	for i, key := range keys {
		all = append(all, resp.Int(t.extend(key, argv[i+1], argv[0])))
	}
	return resp.Arr(all...)
}

func (t *simTxn) extend(key, owner, ttl string) int64 {
	if !t.n.entry(key).value.holds(owner) {
		return 0
	}
	ms, _ := strconv.ParseInt(ttl, 10, 64)
	t.set(key, t.n.entry(key).value, ms)
	return 1
}

func (t *simTxn) count(text, key string) resp.Value {
	e := t.n.entry(key)
	had := int64(0)
	if e.value != nil {
		had, _ = strconv.ParseInt(e.value.items[0], 10, 64)
	}
	step := int64(1)
	if text == scriptTake {
		if had < 1 {
			return resp.Int(0)
		}
		step = -1
	}
	t.set(key, simString(strconv.FormatInt(had+step, 10)), tally.Forever)
	return resp.Int(1)
}

// join adds a holder to a read/write lock, whose fields are "r<owner>" and "w<owner>".
func (t *simTxn) join(text, key string, argv []string) resp.Value {
	v := t.n.entry(key).value
	writer := v != nil && strings.HasPrefix(v.items[0], "w")
	if writer || (v != nil && text == scriptWrite) {
		t.isTTL = true
		return resp.Int(t.pttl(key))
	}
	ms, _ := strconv.ParseInt(argv[1], 10, 64)
	if v != nil {
		ms = max(ms, t.pttl(key))
	}
	t.set(key, v.with(argv[0], "1"), ms)
	return resp.Value{}
}

func (t *simTxn) leave(key, owner string) resp.Value {
	v := t.n.entry(key).value
	if !v.holds(owner) {
		return resp.Int(0)
	}
	e, w := t.touch(key)
	e.value, w.ended = v.without(owner), true
	return resp.Int(1)
}
