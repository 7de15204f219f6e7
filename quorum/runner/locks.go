package runner

import (
	"strconv"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/fencing"
	"github.com/redfence/redfence/quorum/tally"
)

// leanLocks takes, releases and extends locks, any number in one call.
var leanLocks = newProgram(assemble(leanText("locks")))

// longestLease is the TTL in ms up to which lua/lean/locks.lua is used: companions there live two days.
const longestLease = int64(outliving / time.Millisecond)

// lock is an operation of lua/lean/locks.lua.
type lock struct {
	letter byte // 0: it is none
	key    string
	value  string
	ttl    int64 // ms
}

// Joins tells whether an operation may be one of many in one call.
func Joins(op Op) bool {
	r, ok := op.(*Run)
	return ok && r.build().lock.letter != 0
}

// Locks is the program that runs several operations of which Joins is true in one call, in their order.
func Locks() *Program { return leanLocks }

// Asked is what a node was asked for: what it is believed to know of the key, and what it is to know then.
type Asked struct{ believed, after companion }

// words is how many arguments an operation has, its letter included.
func (l *lock) words() int {
	if l.letter == 'r' || l.letter == 'e' {
		return 5
	}
	return 7
}

// LockWords is how many words AddLock adds for an operation.
func LockWords(op Op) int {
	r, _ := op.(*Run)
	return r.build().lock.words()
}

// BeginLocks starts the command line of several operations, which have so many words.
func BeginLocks(line []byte, words int) []byte {
	line = AppendCount(line, '*', 3+words+2)
	line = AppendWord(line, "EVALSHA")
	return AppendWord(AppendWord(line, leanLocks.SHA), "0")
}

// AddLock adds an operation to the command line.
func AddLock(line []byte, op Op, m *Memory) ([]byte, Asked) {
	r, _ := op.(*Run)
	l := &r.build().lock
	was := m.of(l.key)
	a := Asked{believed: was, after: companion{version: r.next(was.version), mark: was.mark}}
	line = AppendWord(AppendWord(line, string(l.letter)), l.key)
	if l.letter == 'e' {
		return AppendWord(appendNumber(AppendWord(line, l.value), l.ttl), r.ID), a
	}
	var room [128]byte
	line = AppendWord(AppendWord(line, was.text(room[:0])), l.value)
	if l.letter == 'r' {
		m.note(l.key, a.after) // for who takes the lock in the same call
		return AppendWord(line, a.after.text(room[:0])), a
	}
	a.after.token = fencing.Next(was.mark, fencing.Token(r.Wall))
	a.after.mark = a.after.token
	line = appendNumber(line, l.ttl)
	line = AppendWord(line, a.after.head(room[:0]))
	return AppendWord(line, append(append(room[:0], ' '), a.after.version.Request...)), a
}

// EndLocks completes the command line. After the deadline, the earliest of all, none of the operations is executed.
func EndLocks(line []byte, at Target) []byte {
	deadline := at.Deadline
	if deadline == 0 {
		deadline = 1 << 53
	}
	return AppendWord(appendNumber(line, deadline), at.Canary)
}

// AppendCount adds the line with which an array (mark *) or a bulk string (mark $) of length n begins
// (https://redis.io/docs/latest/develop/reference/protocol-spec/).
func AppendCount(dst []byte, mark byte, n int) []byte {
	return append(strconv.AppendInt(append(dst, mark), int64(n), 10), "\r\n"...)
}

// AppendWord adds a word of a command line.
func AppendWord[T string | []byte](dst []byte, word T) []byte {
	return append(append(AppendCount(dst, '$', len(word)), word...), "\r\n"...)
}

func appendNumber(dst []byte, n int64) []byte {
	var room [20]byte
	return AppendWord(dst, strconv.AppendInt(room[:0], n, 10))
}

// lockAnswer is what lua/lean/locks.lua answers to one operation.
type lockAnswer struct {
	time      time.Duration
	what      int64 // see there
	tillFirst int64 // the end before, of what was extended
	shown     bool
	before    companion // that was shown, or else believed
	after     companion // when it was done
}

// DecodeLock reads what a node answered to the operation number i of a call, as Decode does.
func DecodeLock(op Op, reply any, i int, asked Asked, m *Memory) Result {
	parts, ok := reply.([]any)
	if !ok {
		return Decode(op, reply)
	}
	r, _ := op.(*Run)
	if r == nil || len(parts) < i+2 {
		return broken(errAnswer)
	}
	if failure, ok := parts[i+1].(error); ok {
		return refusedBy(failure.Error())
	}
	a := lockAnswer{before: asked.believed, after: asked.after}
	if !a.read(parts[0], parts[i+1]) {
		return broken(errAnswer)
	}
	l := &r.built.lock
	switch {
	case a.what == 1:
		a.complete(r, l)
		m.note(l.key, a.after)
	case a.shown:
		m.note(l.key, a.before)
	}
	return r.lockResult(l, &a)
}

// read takes the time and what happened.
func (a *lockAnswer) read(head, part any) bool {
	text, _ := head.(string)
	var n [2]int64
	if rest, ok := leadingNumbers(text+" ", n[:]); !ok || rest != "" {
		return false
	}
	a.time = time.Duration(n[0])*time.Second + time.Duration(n[1])*time.Microsecond
	switch part := part.(type) {
	case int64:
		a.what = part
		return true
	case string:
		rest, ok := leadingNumbers(part, n[:])
		a.what, a.tillFirst = n[0], n[1]
		if ok {
			a.before, a.shown = parseCompanion(rest)
		}
		return a.shown
	}
	return false
}

// complete works out the companion after, as the node has: anew where the one before was not the one believed.
func (a *lockAnswer) complete(r *Run, l *lock) {
	floor := a.after.token
	if a.shown {
		a.after.version, a.after.mark = r.next(a.before.version), a.before.mark
	}
	switch {
	case l.letter == 'r':
		return
	case l.letter == 'e':
		a.after.token = a.before.hold(a.time)
	case a.shown:
		a.after.token = fencing.Next(a.before.mark, floor)
		a.after.mark = a.after.token
	}
	a.after.till = a.time.Milliseconds() + l.ttl
}

// lockResult makes of the answer what the general program would have answered.
func (r *Run) lockResult(l *lock, la *lockAnswer) Result {
	a := &tally.Answer{Ran: true, Time: la.time}
	exists := la.what == 0 || la.what == -2
	switch l.letter {
	case 'r':
		a.Reply = r.Text.reply(la.what)
		exists = exists || la.what == 1
	case 'e':
		a.Reply = r.Text.reply(la.what)
		exists = exists || la.what == 1
	default:
		a.Reply, a.IsToken = r.taken(la)
	}
	if la.what == 1 {
		a.Writes = []tally.Write{l.write(la)}
	}
	if r.Seen {
		a.Seen = []tally.Seen{{Key: l.key, Version: la.before.version, Exists: exists}}
	}
	return Result{Answer: a, Time: la.time}
}

// taken is the reply to SET NX PX.
func (r *Run) taken(la *lockAnswer) (reply resp.Value, isToken bool) {
	opts, _ := r.Requests[0].Opts.(args.SetOptions)
	switch {
	case la.what != 1:
		return resp.Value{}, false
	case opts.Fence:
		return resp.Int(int64(la.after.token)), true
	}
	return resp.OK(), false
}

// write is what was done.
func (l *lock) write(la *lockAnswer) tally.Write {
	w := tally.Write{Key: l.key, Before: la.before.version, After: la.after.version}
	switch l.letter {
	case 'r':
		w.Existed, w.Ended, w.OldToken, w.ImageEnd = true, true, la.before.hold(la.time), la.before.till
	case 'e':
		w.Existed, w.Exists, w.State, w.TTL, w.Token = true, true, stringState(l.value), l.ttl, la.after.token
		w.Shortened = la.tillFirst == tally.Forever || la.after.till < la.tillFirst
		w.Ended, w.Renewal, w.ImageEnd, w.OldToken = w.Shortened, !w.Shortened, la.tillFirst, la.after.token
		w.Unchanged = la.after.till == la.tillFirst
	default:
		w.Exists, w.State, w.TTL, w.Token, w.Fresh = true, stringState(l.value), l.ttl, la.after.token, true
	}
	return w
}

// buildTake chooses the form for SET NX PX.
func (r *Run) buildTake(q *commands.Request) bool {
	opts, _ := q.Opts.(args.SetOptions)
	relative := opts.Expiry.Unit == args.Millis || opts.Expiry.Unit == args.Seconds
	if r.NoTokens || opts.When != args.IfAbsent || opts.Get || !relative || opts.Expiry.Ms > longestLease {
		return false
	}
	letter := byte('s')
	if r.Seen {
		letter = 'S'
	}
	r.built.locks(lock{letter, q.Args[1], q.Args[2], opts.Expiry.Ms})
	return true
}

// Compares is the state, see tally.Write, that a key must have for the script to do anything, when it is one that is known to
// compare a string with its first argument; false when it is none.
func (t *Text) Compares(q *commands.Request) (state string, yes bool) {
	opts, _ := q.Opts.(args.EvalOptions)
	if t.form == nil || len(opts.Keys) != 1 || len(opts.Argv) < t.form.argc() {
		return "", false
	}
	return stringState(opts.Argv[0]), true
}

// buildKnown chooses the form for a script that is known.
func (r *Run) buildKnown() bool {
	opts, _ := r.Requests[0].Opts.(args.EvalOptions)
	f := r.Text.form
	if f == nil || len(opts.Keys) != 1 || len(opts.Argv) < f.argc() || reserved(opts.Keys[0]) ||
		r.Requests[0].Spec.Flags.Has(commands.ReadOnly) {
		return false
	}
	if !f.extends {
		r.built.locks(lock{'r', opts.Keys[0], opts.Argv[0], 0})
		return true
	}
	ttl, err := args.Int(opts.Argv[1])
	if err != nil || ttl <= 0 || ttl > longestLease {
		return false
	}
	r.built.locks(lock{'e', opts.Keys[0], opts.Argv[0], ttl})
	return true
}

func (b *built) locks(l lock) { b.program, b.lock = leanLocks, l }
