package runner

import (
	"cmp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/quorum/tally"
)

// built is the command line of an operation without what differs between nodes.
type built struct {
	once    sync.Once
	program *Program
	args    []any // EVALSHA, SHA1, number of keys, keys, arguments
	isLean  bool
	lock    lock
	link    atomic.Pointer[link]
	general bool // no lean form; for tests, which compare the two
}

// link is a version and the one that a run makes of it: mostly the same on all nodes.
type link struct{ before, after tally.Version }

// next is the version that the run makes of another.
func (r *Run) next(before tally.Version) tally.Version {
	if l := r.built.link.Load(); l != nil && l.before == before {
		return l.after
	}
	after := before.Next(r.ID)
	r.built.link.Store(&link{before, after})
	return after
}

// commandLines is the program of everything that has no form of its own.
var commandLines = newProgram(recorder + assemble(luaDraw, luaCommands))

// Script returns the program of an operation, nil for Check, which is none.
func Script(op Op) *Program {
	switch op := op.(type) {
	case *Run:
		return op.build().program
	case *Undo:
		return undoProgram
	case *Copy:
		return copyProgram
	case *Accept:
		return acceptProgram
	case *Fetch:
		return fetchProgram
	case *Scan:
		return scanProgram
	case *Admit:
		return admitProgram
	case *Raise:
		return raiseProgram
	}
	return nil
}

// Args returns the command line that makes a node execute an operation. For a Run it is cheap: what is the same for
// all nodes is made once. It may be called from several goroutines. What Joins has a command line of its own (AddLock).
func Args(op Op, at Target) []any {
	switch op := op.(type) {
	case *Run:
		common := op.build().args
		line := make([]any, len(common), len(common)+2)
		copy(line, common)
		return append(line, at.Deadline, at.Canary)
	case *Check:
		return []any{"script", "load", op.Text}
	}
	line := append(words{"evalsha", Script(op).SHA, 0}, wordsOf(op, at)...)
	return append(line, at.Deadline, at.Canary)
}

func (r *Run) build() *built {
	r.built.once.Do(func() {
		switch {
		case !r.built.general && r.buildLean():
		case r.Text != nil:
			r.buildScript()
		default:
			r.buildCommands()
		}
	})
	return &r.built
}

// begin starts a command line for n arguments more.
func (b *built) begin(p *Program, keys []string, n int) {
	b.program = p
	b.args = make([]any, 0, 3+len(keys)+n)
	b.args = append(b.args, "evalsha", p.SHA, len(keys))
	b.add(keys...)
}

func (b *built) add(words ...string) {
	for _, w := range words {
		b.args = append(b.args, w)
	}
}

func (r *Run) buildScript() {
	opts, _ := r.Requests[0].Opts.(args.EvalOptions)
	r.built.begin(r.Text.wrapped(), opts.Keys, len(opts.Argv)+r.tailLen())
	r.built.add(opts.Argv...)
	r.addTail()
}

func (r *Run) buildCommands() {
	n := r.tailLen()
	for _, q := range r.Requests {
		n += 3 + len(q.Args)
	}
	r.built.begin(commandLines, nil, n)
	for i, q := range r.Requests {
		if v := r.given(i); v != nil {
			r.built.add("g1", string(resp.Append(nil, *v, resp.RESP3)))
			continue
		}
		if text := r.textOf(i); text != nil {
			r.built.add(scriptMark(q, text)+strconv.Itoa(len(q.Args)), text.inside(), text.SHA)
			r.built.add(q.Args...)
			continue
		}
		line := awake(q)
		r.built.add(strconv.Itoa(len(line)))
		r.built.add(line...)
	}
	r.addTail()
}

// scriptMark is how lua/commands.lua is told of a script: s, or r when it must not write.
func scriptMark(q *commands.Request, t *Text) string {
	if q.Spec.Flags.Has(commands.ReadOnly) || t.onlyReads() {
		return "r"
	}
	return "s"
}

// given is the reply to a request of a block that is known already, nil when it is not. So is that of a script whose
// shebang says that it writes, and that *_RO commands refuse.
func (r *Run) given(i int) *resp.Value {
	if t := r.textOf(i); t != nil && t.mayWrite() && r.Requests[i].Spec.Flags.Has(commands.ReadOnly) {
		refused := resp.ErrScriptMayWrite.Value()
		return &refused
	}
	if i < len(r.Given) {
		return r.Given[i]
	}
	return nil
}

// textOf returns the script of a request of a block, nil when it is none.
func (r *Run) textOf(i int) *Text {
	if i < len(r.Texts) {
		return r.Texts[i]
	}
	return nil
}

// tailLen is how many arguments addTail adds, with what Args adds behind them.
func (r *Run) tailLen() int { return 5 + 2*len(r.TTLs) + 3*len(r.Watched) }

// addTail adds what lua/run.lua reads.
func (r *Run) addTail() {
	for _, t := range r.TTLs {
		r.built.add(t.Key, strconv.FormatInt(t.TTL, 10))
	}
	for _, w := range r.Watched {
		present := "0"
		if w.Present {
			present = "1"
		}
		r.built.add(w.Key, present, w.Version)
	}
	r.built.add(r.flags()+" "+strconv.Itoa(len(r.TTLs))+" "+strconv.Itoa(len(r.Watched))+" "+r.memory(), strconv.FormatInt(r.Wall, 10), r.ID)
}

// memory is for how many ms FENCE.CHECK remembers.
func (r *Run) memory() string {
	return strconv.FormatInt(cmp.Or(r.Memory, commands.FenceMemory).Milliseconds(), 10)
}

// flags are the letters that lua/run.lua knows.
func (r *Run) flags() string {
	flags := ""
	if r.NoTokens {
		flags += "n"
	}
	if r.Seen {
		flags += "s"
	}
	if r.Text != nil && r.Requests[0].Spec.Flags.Has(commands.ReadOnly) {
		flags += "r"
		if r.Text.mayWrite() {
			flags += "w"
		}
	}
	if r.Block {
		flags += "b"
	}
	return flags
}

// awake returns the line of a request, that of its relative that does not wait when it is one that does.
func awake(r *commands.Request) []string {
	if !r.Spec.Flags.Has(commands.Blocking) {
		return r.Args
	}
	words := r.Args
	last := len(words) - 1
	switch r.Spec.Name {
	case "blpop", "brpop", "bzpopmin", "bzpopmax":
		return popOne(r.Spec.Name, words[1:last])
	case "blmove":
		return append([]string{"LMOVE"}, words[1:last]...)
	case "brpoplpush":
		return append([]string{"RPOPLPUSH"}, words[1:last]...)
	}
	return append([]string{strings.ToUpper(r.Spec.Name[1:])}, words[2:]...) // BLMPOP, BZMPOP
}

func popOne(name string, keys []string) []string {
	command, end := "LMPOP", "LEFT"
	switch name {
	case "brpop":
		end = "RIGHT"
	case "bzpopmin":
		command, end = "ZMPOP", "MIN"
	case "bzpopmax":
		command, end = "ZMPOP", "MAX"
	}
	line := append([]string{command, strconv.Itoa(len(keys))}, keys...)
	return append(line, end)
}
