package runner

import (
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
)

// Text is a client's script, ready to run on nodes. A node must have accepted it by SCRIPT LOAD before (Check): a text
// that compiles on its own cannot close the wrapper. It is kept for as long as the proxy knows the script.
type Text struct {
	Raw string
	SHA string // of Raw, as the client knows it

	wrapped   func() *Program
	tailCall  int // the line of the first call of a command in tail position
	batch     batch
	firstCall int   // the line of the first call of a command
	form      *form // what it does, if that is known
	mayEnd    bool  // a command in it may end a hold
	wrote     atomic.Uint32
}

// What a script was seen to write.
const (
	wroteEnds  = 1 << iota // it ended a hold
	wroteOther             // anything else
)

// Wrote notes what the script did on a node when it wrote: it ended a hold, or it did not.
func (t *Text) Wrote(ended bool) {
	what := uint32(wroteOther)
	if ended {
		what = wroteEnds
	}
	if t.wrote.Load()&what == 0 {
		t.wrote.Or(what)
	}
}

// Releases tells whether the script is one that ends a hold whenever it writes, as far as it is known by now: one that was
// not seen to write may be, if it has a command for that.
func (t *Text) Releases() bool {
	switch t.wrote.Load() {
	case 0:
		return t.form != nil && !t.form.extends || t.form == nil && t.mayEnd
	case wroteEnds:
		return true
	}
	return false
}

// endings are the commands with which locks are released, as scripts name them. Those that also count up are not among
// them: who asks for a lock must not wait for the slowest node to be told that somebody else has it.
var endings = regexp.MustCompile(`(?i)['"](del|unlink|getdel|hdel|lrem|zrem|srem)['"]`)

// NewText prepares a script. The program that wraps it is made when it is first needed.
func NewText(raw string) *Text {
	name, spelled := sha(raw), canonical(raw)
	return &Text{Raw: raw, SHA: name, tailCall: tailCall(raw), firstCall: lineOf(raw, "call"), form: forms[spelled], batch: batches[spelled], mayEnd: endings.MatchString(raw), wrapped: sync.OnceValue(func() *Program { return newProgram(wrap(raw, name)) })}
}

// mayWrite tells whether a script's shebang says that it may write, which *_RO commands refuse.
func (t *Text) mayWrite() bool {
	return t.shebang() != "" && !t.onlyReads()
}

// onlyReads tells whether a script's shebang says that it must not write.
func (t *Text) onlyReads() bool { return strings.Contains(t.shebang(), "no-writes") }

// StoresTTLs tells whether a script may store what it computed of a TTL, as that of Redisson's fair lock does. Nodes know
// of TTLs that differ by moments, so unless they are told one they store different things.
func (t *Text) StoresTTLs() bool {
	low := strings.ToLower(t.Raw)
	return strings.Contains(low, "'pttl'") && strings.Contains(low, "'zadd'")
}

// shebang is the first line when it is one
// (https://redis.io/docs/latest/develop/programmability/lua-api/), with its end.
func (t *Text) shebang() string {
	line, _ := splitShebang(t.Raw)
	return line
}

// inside is the text as it stands inside another program, where a shebang would be none. Lines keep their numbers.
func (t *Text) inside() string {
	line, body := splitShebang(t.Raw)
	if line != "" {
		body = "\n" + body
	}
	return body
}

func splitShebang(raw string) (line, body string) {
	if end := strings.IndexByte(raw, '\n'); end >= 0 && strings.HasPrefix(raw, "#!") {
		return raw[:end+1], raw[end+1:]
	}
	return "", raw
}

// wrap puts the runner around a script, on the line on which the script begins, so that errors name the right lines.
// A shebang must stay the first line.
func wrap(raw, name string) string {
	shebang, body := splitShebang(raw)
	return shebang + "return (function(...) " + recorder + wrappedEnd(name) + "end)()(function(" + worldNames + ",...) " + body + "\nend)"
}

// worldNames are the names that mean something else to a client's script than to the runner, in the order in which
// lua/script.lua passes them.
const worldNames = "redis,KEYS,ARGV,_G,load,loadstring,getmetatable"

func wrappedEnd(name string) string {
	return strings.ReplaceAll(assemble(luaWrapped), "$SHA", quoted(name))
}

// Calls in tail position: of Redis, else of a name that may stand for it.
var tailCalls = []*regexp.Regexp{regexp.MustCompile(`return\s+(redis|server)\.call\s*\(`), regexp.MustCompile(`return\s+[\w.]+\s*\(`)}

// tailCall finds the line of the first call in tail position, 1 when there is none.
func tailCall(raw string) int {
	for _, calls := range tailCalls {
		if at := calls.FindStringIndex(raw); at != nil {
			return 1 + strings.Count(raw[:at[1]], "\n")
		}
	}
	return 1
}

// lineOf is the line on which a word first stands.
func lineOf(raw, word string) int {
	return 1 + strings.Count(raw[:max(strings.Index(raw, word), 0)], "\n")
}
