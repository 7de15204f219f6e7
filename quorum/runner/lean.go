package runner

import (
	"embed"
	"strconv"
	"strings"
	"time"

	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/quorum/tally"
)

//go:embed lua/lean/*.lua
var leanFiles embed.FS

// Lean forms are programs of their own for what locks do all the time. Each means the same as the general program and
// does the least number of calls.
var (
	leanGet  = leanProgram("get", ", KEYS[1]")
	leanDel  = leanProgram("del", "")
	leanPTTL = leanProgram("pttl", "")
)

func leanProgram(name, read string) *Program {
	return newProgram(strings.ReplaceAll(assemble(leanText("gate"), leanText(name)), "$READ", read))
}

// leanText is the text of a file in lua/lean.
func leanText(name string) string {
	text, _ := leanFiles.ReadFile("lua/lean/" + name + ".lua")
	return string(text)
}

// buildLean chooses a lean form for a run, and tells whether there is one.
func (r *Run) buildLean() bool {
	if r.Block || len(r.Watched) > 0 || len(r.Requests) != 1 || len(r.TTLs) > 0 {
		return false
	}
	if r.Text != nil {
		return r.buildKnown()
	}
	q := r.Requests[0]
	if len(q.Args) < 2 || reserved(q.Args[1]) {
		return false
	}
	key := q.Args[1:2]
	switch q.Spec.Name {
	case "set":
		return r.buildTake(q)
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

// reserved tells whether a key may be one that clients cannot use, or see in another way.
func reserved(key string) bool { return strings.HasPrefix(key, "__") }

// leanAnswer is what the forms for one key answer.
type leanAnswer struct {
	time   time.Duration
	what   int64 // see the program
	before companion
	read   string
}

// readLean reads "<seconds> <µs> <what> <length of the companion> <companion><read>".
func readLean(s string) (a leanAnswer, ok bool) {
	var n [4]int64
	if s, ok = leadingNumbers(s, n[:]); !ok || n[3] < 0 || n[3] > int64(len(s)) {
		return a, false
	}
	a = leanAnswer{time: time.Duration(n[0])*time.Second + time.Duration(n[1])*time.Microsecond, what: n[2], read: s[n[3]:]}
	a.before, ok = parseCompanion(s[:n[3]])
	return a, ok
}

// leanResult makes of a lean form's answer what the general program would have answered.
func (r *Run) leanResult(s string) Result {
	l, ok := readLean(s)
	if !ok {
		return broken(errAnswer)
	}
	a := &tally.Answer{Ran: true, Time: l.time}
	key := r.Requests[0].Args[1]
	exists := l.what >= 0 || l.what == -2
	switch r.built.program {
	case leanGet:
		a.Reply = leanString(l)
	case leanPTTL:
		a.Reply, a.IsTTL, exists = resp.Int(l.what), true, l.what != -2
		if l.what >= 0 {
			a.TTLs = []tally.Reading{{DB: r.Requests[0].DB, Key: key, TTL: l.what}}
		}
	default:
		a.Reply = resp.BoolInt(l.what == 1)
		if l.what == 1 {
			before := &l.before
			a.Writes = []tally.Write{{
				Key: key, Before: before.version, After: before.version.Next(r.ID), Existed: true, Ended: true,
				OldToken: before.hold(l.time), ImageEnd: before.till,
			}}
		}
	}
	if r.Seen {
		a.Seen = []tally.Seen{{Key: key, Version: l.before.version, Exists: exists}}
	}
	return Result{Answer: a, Time: l.time}
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
