// Package script runs Redis scripts (Lua 5.1) inside a replicated state machine.
//
// A run depends on nothing but its text, its arguments and the replies of its Caller: no clock, no randomness beside the
// generator that Redis also starts anew for every script, no address, no Go map order, and budgets that count logical
// units. So every replica, and every replay, ends at the same point with the same result. DESIGN.md says how.
package script

import (
	"crypto/sha1"
	"encoding/hex"

	"github.com/redfence/redfence/commands/resp"
)

// Caller executes the commands of one script. It is called on the goroutine of Run, one command at a time, in the
// order of the script.
type Caller interface {
	// Call executes one command; args holds its name and arguments and is only valid until Call returns (the strings
	// may be kept). An Error value is what redis.call raises and redis.pcall returns. With stop the script ends at
	// once, also inside pcall, and Run answers v with the outcome Stopped.
	Call(args []string) (v resp.Value, stop bool)
}

// ProtocolSetter is a Caller that answers some commands differently in RESP3 (ZRANGE WITHSCORES gives pairs, not a flat
// list). SetProtocol is called when the script calls redis.setresp; each run begins in RESP2.
type ProtocolSetter interface {
	SetProtocol(p resp.Protocol)
}

// Outcome tells how a run ended, and so what becomes of its writes.
type Outcome uint8

// The outcomes.
const (
	Done       Outcome = iota // it returned; the value may still be an error reply, as redis.error_reply makes one
	Failed                    // it raised an error or does not compile; as in Redis, earlier writes stay
	OverBudget                // it spent its steps or its memory: the caller takes all its writes back
	Stopped                   // the Caller stopped it
)

// Invocation is one EVAL or EVALSHA.
type Invocation struct {
	SHA    string // SHA1 of Text in lower-case hex, as SHA1Hex computes it
	Text   string
	Keys   []string
	Args   []string
	Caller Caller
	Log    func(level int, msg string) // redis.log; nil discards. Levels are LOG_DEBUG (0) to LOG_WARNING (3)
}

// Limits bound what one script may use. All count logical units, never seconds or bytes of the process, so that a
// script ends at the same point on every replica.
type Limits struct {
	Steps       int64 // VM instructions, and charges for the work that library functions do outside of the VM
	Memory      int64 // bytes that tables, strings and closures made by one run may take; nothing is given back
	Text        int   // bytes of one script's text
	Cached      int   // compiled scripts kept
	CachedBytes int   // sum of the texts of compiled scripts kept
}

// DefaultLimits are for scripts of lock clients: the largest known ones (BullMQ) take below 1 % of the steps. An endless
// loop ends in a fraction of a second.
func DefaultLimits() Limits {
	return Limits{Steps: 4_000_000, Memory: 64 << 20, Text: 256 << 10, Cached: 1024, CachedBytes: 16 << 20}
}

// Engine compiles and runs scripts. It is for one goroutine at a time: the state machine's.
type Engine struct {
	limits  Limits
	version string
	cache   *cache
	idle    *machine                 // the Lua state kept between runs; nil before the first and after one that was given up
	line    [shortcutOperands]string // of the command that a shortcut executes
}

// New returns an Engine. redisVersion is what scripts read as redis.REDIS_VERSION, for instance "7.0.15".
func New(limits Limits, redisVersion string) *Engine {
	return &Engine{limits: limits, version: redisVersion, cache: newCache(limits.Cached, limits.CachedBytes)}
}

// Check compiles text without running it. The error's text is the reply that SCRIPT LOAD and EVAL give.
func (e *Engine) Check(text string) error {
	_, err := e.program(SHA1Hex(text), text)
	return err
}

// Run executes one script. A Go panic inside the interpreter is an error reply with the outcome OverBudget, since nothing
// is known about what the script would have done.
func (e *Engine) Run(inv Invocation) (resp.Value, Outcome) {
	p, err := e.program(inv.SHA, inv.Text)
	if err != nil {
		return resp.Err(err.Error()), Failed
	}
	if p.short != nil && p.short.suits(inv, e.limits) {
		reply, known, done := p.short.run(inv, e.line[:])
		if done {
			return reply, Done
		}
		inv.Caller = repeat(known)
	}
	m := e.idle
	e.idle = nil
	if m == nil {
		m = newMachine(e.limits, e.version)
	}
	v, out := m.run(p, inv)
	if !m.broken {
		e.idle = m
	}
	return v, out
}

func (e *Engine) program(sha, text string) (*program, error) {
	if p := e.cache.get(sha); p != nil {
		return p, nil
	}
	p, err := compileScript(text, e.limits.Text)
	if err != nil {
		return nil, err
	}
	e.cache.put(sha, p)
	return p, nil
}

// SHA1Hex is the name under which Redis knows a script: the SHA1 of its text in lower-case hex.
func SHA1Hex(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}
