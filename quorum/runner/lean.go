package runner

import (
	"embed"
	"strconv"
	"strings"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/fencing"
	"github.com/redfence/redfence/quorum/tally"
)

//go:embed lua/lean/*.lua
var leanFiles embed.FS

// Lean forms are programs of their own for what locks do all the time. Each means the same as the general program and
// does the least number of calls.
var (
	leanSet     = leanProgram("set", "")
	leanRelease = leanProgram("release", ", KEYS[1]")
	leanExtend  = leanProgram("extend", ", KEYS[1]")
	leanGet     = leanProgram("get", ", KEYS[1]")
	leanDel     = leanProgram("del", "")
	leanPTTL    = leanProgram("pttl", "")
)

func leanProgram(name, read string) *Program {
	return newProgram(strings.ReplaceAll(assemble(leanText("gate"), leanText(name)), "$READ", read))
}

// longestLease is the TTL in ms up to which a lean form is used: sums with a clock stay exact.
const longestLease = 1 << 50

// buildLean chooses a lean form for a run, and tells whether there is one.
func (r *Run) buildLean() bool {
	if r.Block || len(r.Watched) > 0 || len(r.Requests) != 1 || len(r.TTLs) > 0 {
		return false
	}
	if r.Text != nil {
		return r.buildLeanScript()
	}
	q := r.Requests[0]
	if len(q.Args) < 2 || reserved(q.Args[1]) {
		return false
	}
	key := q.Args[1:2]
	switch q.Spec.Name {
	case "set":
		return r.buildLeanSet(q)
	case "get":
		r.built.lean(leanGet, key)
	case "pttl":
		r.built.lean(leanPTTL, key)
	case "del", "unlink":
		if len(q.Args) != 2 {
			return false
		}
		r.built.lean(leanDel, key, r.ID)
	default:
		return false
	}
	return true
}

func (b *built) lean(p *Program, keys []string, argv ...string) {
	b.isLean = true
	b.begin(p, keys, len(argv)+2)
	b.add(argv...)
}

func (r *Run) buildLeanSet(q *commands.Request) bool {
	opts, _ := q.Opts.(args.SetOptions)
	relative := opts.Expiry.Unit == args.Millis || opts.Expiry.Unit == args.Seconds
	if r.NoTokens || opts.When != args.IfAbsent || opts.Get || !relative || opts.Expiry.Ms > longestLease {
		return false
	}
	r.built.lean(leanSet, q.Args[1:2], q.Args[2], strconv.FormatInt(opts.Expiry.Ms, 10), r.ID, strconv.FormatInt(r.Wall, 10))
	return true
}

func (r *Run) buildLeanScript() bool {
	opts, _ := r.Requests[0].Opts.(args.EvalOptions)
	f := r.Text.form
	if f == nil || len(opts.Keys) != 1 || len(opts.Argv) < f.argc() || reserved(opts.Keys[0]) ||
		r.Requests[0].Spec.Flags.Has(commands.ReadOnly) {
		return false
	}
	if !f.extends {
		r.built.lean(leanRelease, opts.Keys, opts.Argv[0], r.ID)
		return true
	}
	ttl, err := args.Int(opts.Argv[1])
	if err != nil || ttl <= 0 || ttl > longestLease {
		return false
	}
	r.built.lean(leanExtend, opts.Keys, opts.Argv[0], opts.Argv[1], r.ID)
	return true
}

// reserved tells whether a key may be one that clients cannot use, or see in another way.
func reserved(key string) bool { return strings.HasPrefix(key, "__") }

// leanAnswer is what a lean form answers.
type leanAnswer struct {
	time             time.Duration
	what             int64 // see the program
	before           tally.Version
	token, hold      fencing.Token
	till, tillBefore int64 // ms of the node's clock
	read             string
}

// readLean reads "<seconds> <µs> <what> <number> <token> <hold> <till> <till before> <length> <request><read>".
func readLean(s string) (a leanAnswer, ok bool) {
	var n [9]int64
	for i := range n {
		word, rest, found := strings.Cut(s, " ")
		v, err := strconv.ParseInt(word, 10, 64)
		if !found || err != nil {
			return a, false
		}
		n[i], s = v, rest
	}
	if n[8] < 0 || n[8] > int64(len(s)) {
		return a, false
	}
	return leanAnswer{
		time: time.Duration(n[0])*time.Second + time.Duration(n[1])*time.Microsecond, what: n[2],
		before: tally.Version{Number: uint64(n[3]), Request: s[:n[8]]}, token: fencing.Token(n[4]), hold: fencing.Token(n[5]),
		till: n[6], tillBefore: n[7], read: s[n[8]:],
	}, true
}

// leanResult makes of a lean form's answer what the general program would have answered.
func (r *Run) leanResult(s string) Result {
	l, ok := readLean(s)
	if !ok {
		return broken(errAnswer)
	}
	a := &tally.Answer{Ran: true, Time: l.time}
	key := r.built.args[3].(string) //nolint:forcetypeassert // begin put it there
	exists := l.what >= 0 || l.what == -2
	switch r.built.program {
	case leanSet:
		r.leanSet(a, l, key)
		exists = l.what == 0
	case leanGet:
		a.Reply = leanString(l)
	case leanPTTL:
		a.Reply, a.IsTTL, exists = resp.Int(l.what), true, l.what != -2
		if l.what >= 0 {
			a.TTLs = []tally.Reading{{DB: r.Requests[0].DB, Key: key, TTL: l.what}}
		}
	case leanDel:
		a.Reply = resp.BoolInt(l.what == 1)
		r.leanGone(a, l, key)
	case leanRelease:
		a.Reply = r.Text.reply(l.what)
		r.leanGone(a, l, key)
	default:
		a.Reply = r.Text.reply(l.what)
		r.leanExtended(a, l, key)
	}
	if r.Seen {
		a.Seen = []tally.Seen{{Key: key, Version: l.before, Exists: exists}}
	}
	return Result{Answer: a, Time: l.time}
}

func (r *Run) after(l leanAnswer) tally.Version {
	return l.before.Next(r.ID)
}

func (r *Run) leanSet(a *tally.Answer, l leanAnswer, key string) {
	if l.what == 0 {
		return
	}
	opts, _ := r.Requests[0].Opts.(args.SetOptions)
	a.Reply = resp.OK()
	if opts.Fence {
		a.Reply, a.IsToken = resp.Int(int64(l.token)), true
	}
	a.Writes = []tally.Write{{
		Key: key, Before: l.before, After: r.after(l), Exists: true, State: stringState(r.Requests[0].Args[2]),
		TTL: l.till - l.time.Milliseconds(), Token: l.token, Fresh: true,
	}}
}

func (r *Run) leanGone(a *tally.Answer, l leanAnswer, key string) {
	if l.what == 1 {
		a.Writes = []tally.Write{{
			Key: key, Before: l.before, After: r.after(l), Existed: true, Ended: true, OldToken: l.hold, ImageEnd: l.tillBefore,
		}}
	}
}

func (r *Run) leanExtended(a *tally.Answer, l leanAnswer, key string) {
	if l.what != 1 {
		return
	}
	opts, _ := r.Requests[0].Opts.(args.EvalOptions)
	shorter := l.tillBefore == tally.Forever || l.till < l.tillBefore
	a.Writes = []tally.Write{{
		Key: key, Before: l.before, After: r.after(l), Existed: true, Exists: true, State: stringState(opts.Argv[0]),
		TTL: l.till - l.time.Milliseconds(), Token: l.token, Ended: shorter, Renewal: !shorter, Shortened: shorter,
		ImageEnd: l.tillBefore, OldToken: l.hold,
	}}
}

// leanString is the reply of GET.
func leanString(l leanAnswer) resp.Value {
	switch l.what {
	case 1:
		return resp.Str(l.read)
	case -1:
		return resp.Value{}
	}
	return resp.ErrWrongType.Value()
}

// stringState names the content of a string as name in lua/keys.lua does.
func stringState(s string) string {
	text := "string " + strconv.Itoa(len(s)) + ":" + s
	if len(text) <= 64 {
		return text
	}
	return "#" + sha(text)
}
