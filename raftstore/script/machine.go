package script

import (
	"errors"
	"fmt"

	lua "github.com/yuin/gopher-lua"

	"github.com/redfence/redfence/commands/resp"
)

// Stack bounds. Lua code that calls Lua code takes frames; Go code that calls Lua code (pcall, sort, gsub, metamethods)
// takes Go stack too, which a process cannot run out of and live.
const (
	maxFrames       = 1000    // calls nested in each other; real Lua: 20,000, of which 200 through C
	maxThreadFrames = 200     // the same inside of one pcall
	maxProtected    = 100     // pcalls nested in each other
	keptThreads     = 4       // threads kept for the next run
	maxRegisters    = 128_000 // values on the stack
	growRegisters   = 4096
	caughtErrorCost = 2000 // steps; the library walks the whole stack for each error
)

// machine is a Lua state with the libraries, and what belongs to the run at hand.
type machine struct {
	l          *lua.LState
	b          *budget
	limits     Limits
	version    string
	globals    *lua.LTable
	sealed     *lua.LTable // metatable that marks the read-only tables
	strMeta    *lua.LTable // metatable of strings, as scripts see it
	ipairsNext *lua.LFunction
	helpers    []lua.LValue   // in the order of helperNames
	null       *lua.LUserData // cjson.null, the only userdata there is
	threads    []*lua.LState  // one for each level of pcall, see pcall
	broken     bool           // the state must not be used again

	p         *program
	loaded    map[string]*program // chunks of loadstring, by the name in error texts
	rawNames  map[string]string   // and their full names
	inv       Invocation
	depth     int // pcalls at hand
	resp3     bool
	json      jsonConfig // settings of the global cjson
	calling   bool       // the Caller is at work
	stopped   bool
	stopReply resp.Value // the answer of the Caller that stopped the script
	rng       rng
	argv      []string
	ids       map[lua.LValue]int // stands for addresses in tostring
	deleted   int64              // hash keys set to nil
	captures  int64              // locals captured by closures so far
}

func newMachine(limits Limits, version string) *machine {
	m := &machine{b: newBudget(limits), limits: limits, version: version}
	m.l = lua.NewState(lua.Options{
		CallStackSize: maxFrames, RegistrySize: 1024, RegistryMaxSize: maxRegisters, RegistryGrowStep: growRegisters,
		SkipOpenLibs: true,
	})
	m.l.SetContext(m.b)
	m.openLibraries()
	return m
}

// run executes a program. Steps are counted from here on only, so that they do not depend on what was cached.
func (m *machine) run(p *program, inv Invocation) (resp.Value, Outcome) {
	fn := m.closure(p)
	m.start(p, inv)
	m.l.Push(fn)
	err := m.l.PCall(0, 1, nil)
	if err != nil || m.b.spent() {
		return m.failed(err)
	}
	v := m.l.Get(-1)
	m.l.Pop(1)
	reply := m.reply(v)
	if m.b.spent() {
		return m.failed(nil)
	}
	m.inv = Invocation{}
	return reply, Done
}

func (m *machine) start(p *program, inv Invocation) {
	m.b.reset()
	if len(m.threads) > keptThreads {
		clear(m.threads[keptThreads:])
		m.threads = m.threads[:keptThreads]
	}
	m.p, m.inv, m.depth, m.resp3 = p, inv, 0, false
	m.loaded, m.rawNames, m.ids, m.stopped = nil, nil, nil, false
	m.deleted, m.captures, m.calling = 0, 0, false
	m.rng, m.json = newRNG(0), defaultJSON()
	m.globals.RawSetString("KEYS", m.strings(inv.Keys))
	m.globals.RawSetString("ARGV", m.strings(inv.Args))
}

func (m *machine) strings(list []string) *lua.LTable {
	t := m.l.CreateTable(len(list), 0)
	for i, s := range list {
		m.b.sees(len(s))
		t.RawSetInt(i+1, lua.LString(s))
	}
	return t
}

// failed gives the reply of a run that did not return.
func (m *machine) failed(err error) (resp.Value, Outcome) {
	var ae *lua.ApiError
	if errors.As(err, &ae) && ae.Type == lua.ApiErrorPanic {
		if m.calling {
			panic(ae) // a fault of the Caller, not of the script
		}
		m.drop()
		return resp.Err("ERR redfence: internal error in script " + m.inv.SHA), OverBudget
	}
	if m.stopped {
		return m.stopReply, Stopped
	}
	if m.b.spent() {
		m.drop()
		return resp.Err(fmt.Sprintf("ERR %s script: %s", m.b.why(), m.inv.SHA)), OverBudget
	}
	v := m.errorReply(ae)
	m.inv = Invocation{}
	return v, Failed
}

// drop gives the Lua state up. Compiled programs still refer to the machine, but not to what the script had made.
func (m *machine) drop() {
	m.broken = true
	m.globals.RawSetString("KEYS", lua.LNil)
	m.globals.RawSetString("ARGV", lua.LNil)
	m.l, m.threads, m.ids, m.loaded = nil, nil, nil, nil
}

// closure is the program as a function of this state.
func (m *machine) closure(p *program) *lua.LFunction {
	if p.owner != m {
		m.b.reset()
		p.fn, p.owner = m.instantiate(m.l, p), m
	}
	return p.fn
}

func (m *machine) instantiate(l *lua.LState, p *program) *lua.LFunction {
	l.Push(l.NewFunctionFromProto(p.proto))
	for _, h := range m.helpers {
		l.Push(h)
	}
	l.Call(len(m.helpers), 1)
	fn := l.Get(-1).(*lua.LFunction)
	l.Pop(1)
	return fn
}

// take charges the budget, and ends the script when it is spent.
func (m *machine) take(l *lua.LState, steps, bytes int64) {
	if !m.b.take(steps, bytes) {
		l.Error(lua.LString(m.b.why()), 0)
	}
}

// makes charges for a string of n bytes before it is made.
func (m *machine) makes(l *lua.LState, n int64) {
	m.take(l, n/64, n+itemBytes)
	m.b.sees(int(n))
}

// pcall runs a function so that its errors are values. It runs on a Lua thread of its own: the library, when it unwinds
// an error, closes the upvalues of all functions on the stack, also of those that go on.
func (m *machine) pcall(l *lua.LState) int {
	n := l.GetTop()
	if n == 0 {
		m.argError(l, "pcall", 1, "value expected")
	}
	th, err := m.protected(l, 1, n-1)
	if err != nil {
		l.Push(lua.LFalse)
		l.Push(m.caught(err))
		return 2
	}
	l.SetTop(0)
	l.Push(lua.LTrue)
	return 1 + m.move(th, l)
}

// xpcall calls its handler after the stack was unwound; only a traceback, which Redis has not, could tell.
func (m *machine) xpcall(l *lua.LState) int {
	if l.GetTop() < 2 {
		m.argError(l, "xpcall", 2, "value expected")
	}
	handler := l.Get(2)
	th, err := m.protected(l, 1, 0)
	if err == nil {
		l.SetTop(0)
		l.Push(lua.LTrue)
		return 1 + m.move(th, l)
	}
	object := m.errorObject(err)
	l.SetTop(0)
	l.Push(handler)
	l.Push(object)
	th, err = m.protected(l, 1, 1)
	l.SetTop(0)
	l.Push(lua.LFalse)
	if err != nil {
		l.Push(m.errorObject(err))
		return 2
	}
	return 1 + m.move(th, l)
}

// protected calls the value at index fn of l with the n values behind it and returns the thread that holds the results.
func (m *machine) protected(l *lua.LState, fn, n int) (*lua.LState, *lua.ApiError) {
	if !m.callable(l, l.Get(fn)) {
		text := "attempt to call a " + typeName(l.Get(fn)) + " value"
		return nil, &lua.ApiError{Type: lua.ApiErrorRun, Object: lua.LString(text)}
	}
	if m.depth >= maxProtected {
		m.raise(l, "C stack overflow")
	}
	m.take(l, int64(n), 0)
	th := m.thread(m.depth)
	for i := range n + 1 {
		th.Push(l.Get(fn + i))
	}
	m.depth++
	err := th.PCall(n, lua.MultRet, nil)
	m.depth--
	if err == nil && !m.b.spent() {
		return th, nil
	}
	return nil, m.unwound(l, th, err)
}

// unwound decides what an error of a protected call becomes: a value for the script, or the end of the script.
func (m *machine) unwound(l, th *lua.LState, err error) *lua.ApiError {
	var ae *lua.ApiError
	if errors.As(err, &ae) && ae.Type == lua.ApiErrorPanic {
		panic(ae.Object.String())
	}
	th.SetTop(0)
	if m.b.spent() {
		l.Error(lua.LString(m.b.why()), 0)
	}
	m.take(l, caughtErrorCost, 0)
	return ae
}

// thread returns the Lua thread for one level of pcall. Making one must not change the count of steps.
func (m *machine) thread(level int) *lua.LState {
	if level < len(m.threads) {
		return m.threads[level]
	}
	left, options := m.b.left, m.l.Options
	m.l.Options.CallStackSize, m.l.Options.RegistrySize = maxThreadFrames, 256
	th, _ := m.l.NewThread()
	m.l.Options = options
	th.SetContext(m.b)
	m.b.left = left
	m.threads = append(m.threads, th)
	return th
}

// move takes all values from one thread to another.
func (m *machine) move(from, to *lua.LState) int {
	n := from.GetTop()
	m.take(to, int64(n), 0)
	for i := range n {
		to.Push(from.Get(i + 1))
	}
	from.SetTop(0)
	return n
}

func (m *machine) callable(l *lua.LState, v lua.LValue) bool {
	if v.Type() == lua.LTFunction {
		return true
	}
	return l.GetMetaField(v, "__call").Type() == lua.LTFunction
}
