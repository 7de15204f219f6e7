package script

import (
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

// redisLibrary is the API of https://redis.io/docs/latest/develop/interact/programmability/lua-api/.
func redisLibrary() []entry {
	return []entry{
		{"call", func(a args) int { return a.command(true) }},
		{"pcall", func(a args) int { return a.command(false) }},
		{"log", redisLog},
		{"sha1hex", redisSHA1},
		{"error_reply", redisErrorReply},
		{"status_reply", redisStatusReply},
		{"setresp", redisSetResp},
		{"set_repl", redisSetRepl},
		{"replicate_commands", redisReplicate},
		{"breakpoint", redisBreakpoint},
		{"debug", redisDebug},
		{"acl_check_cmd", redisACLCheck},
	}
}

// The levels of redis.log and the flags of redis.set_repl.
const (
	logWarning = 3
	replAll    = 3
)

func (m *machine) addRedisConstants(t *lua.LTable) {
	for i, name := range []string{"LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING"} {
		t.RawSetString(name, lua.LNumber(i))
	}
	for _, c := range []struct {
		name  string
		flags int
	}{{"REPL_NONE", 0}, {"REPL_AOF", 1}, {"REPL_SLAVE", 2}, {"REPL_REPLICA", 2}, {"REPL_ALL", replAll}} {
		t.RawSetString(c.name, lua.LNumber(c.flags))
	}
	t.RawSetString("REDIS_VERSION", lua.LString(m.version))
	t.RawSetString("REDIS_VERSION_NUM", lua.LNumber(versionNumber(m.version)))
}

// versionNumber packs a version as Redis does: 0x00MMmmpp.
func versionNumber(version string) int {
	n := 0
	for _, part := range strings.SplitN(version, ".", 3) {
		v, _ := parseNumber(part)
		n = n<<8 | int(v)
	}
	return n
}

const (
	textCallEmpty = "ERR Please specify at least one argument for this redis lib call"
	textCallTypes = "ERR Lua redis lib command arguments must be strings or integers"
	textACLCheck  = "ERR Invalid command passed to redis.acl_check_cmd()"
)

// line collects the n arguments as a command line; false when one can be none.
func (a args) line(n int) bool {
	a.m.argv = a.m.argv[:0]
	for i := 1; i <= n; i++ {
		switch v := a.l.Get(i).(type) {
		case lua.LString:
			a.m.argv = append(a.m.argv, string(v))
		case lua.LNumber:
			a.m.argv = append(a.m.argv, formatArg(v))
		default:
			return false
		}
	}
	return true
}

// redisACLCheck tells whether the user may run a command: there is one user, who may run all that exist.
func redisACLCheck(a args) int {
	n := a.l.GetTop()
	if n == 0 {
		a.m.raiseTable(a.l, textCallEmpty)
	}
	a.m.take(a.l, commandCost+int64(n), 0)
	if !a.line(n) {
		a.m.raiseTable(a.l, textCallTypes)
	}
	if _, err := commands.Lookup(a.m.argv); err != nil {
		a.m.raiseTable(a.l, textACLCheck)
	}
	a.l.Push(lua.LTrue)
	return 1
}

// command is redis.call and redis.pcall.
func (a args) command(raise bool) int {
	m, l := a.m, a.l
	n := l.GetTop()
	if n == 0 {
		return a.callFails(raise, textCallEmpty)
	}
	m.take(l, commandCost+int64(n), 0)
	if !a.line(n) {
		return a.callFails(raise, textCallTypes)
	}
	m.calling = true
	v, stop := m.inv.Caller.Call(m.argv)
	m.calling = false
	if stop {
		m.stopped, m.stopReply = true, v
		m.b.stop(textStopped)
		l.Error(lua.LString(textStopped), 0)
	}
	if v.Kind == resp.Error {
		return a.callFails(raise, v.Str)
	}
	l.Push(m.value(l, v))
	return 1
}

func (a args) callFails(raise bool, text string) int {
	t := a.m.callError(text)
	if raise {
		a.l.Error(t, 0)
	}
	a.l.Push(t)
	return 1
}

// callError is the table of a command's error.
func (m *machine) callError(text string) *lua.LTable {
	t := m.errorTable(text)
	t.RawSetString("ignore_error_stats_update", lua.LTrue)
	return t
}

func redisLog(a args) int {
	n := a.l.GetTop()
	if n < 2 {
		a.m.raiseTable(a.l, "ERR redis.log() requires two arguments or more.")
	}
	level, ok := a.l.Get(1).(lua.LNumber)
	if !ok {
		a.m.raiseTable(a.l, "ERR First argument must be a number (log level).")
	}
	if level < 0 || level > logWarning {
		a.m.raiseTable(a.l, "ERR Invalid debug level.")
	}
	var parts []string
	size := 0
	for i := 2; i <= n; i++ {
		if s, ok := toText(a.l.Get(i)); ok {
			parts = append(parts, s)
			size += len(s) + 1
		}
	}
	a.m.makes(a.l, int64(size))
	if a.m.inv.Log != nil {
		a.m.inv.Log(int(level), strings.Join(parts, " "))
	}
	return 0
}

func redisSHA1(a args) int {
	if a.l.GetTop() != 1 {
		a.m.raiseTable(a.l, "ERR wrong number of arguments")
	}
	s, _ := toText(a.l.Get(1))
	a.m.take(a.l, int64(len(s)/16), 64)
	a.l.Push(lua.LString(SHA1Hex(s)))
	return 1
}

const textReplyArgs = "ERR wrong number or type of arguments"

// redisErrorReply gives a text without a code the code ERR; a code is what stands in front of the first blank.
func redisErrorReply(a args) int {
	s, ok := a.l.Get(1).(lua.LString)
	if !ok || a.l.GetTop() != 1 {
		a.l.Push(a.m.field(a.l, "err", lua.LString(textReplyArgs)))
		return 1
	}
	text := strings.TrimPrefix(string(s), "-")
	if !strings.Contains(text, " ") {
		text = "ERR " + text
	}
	a.l.Push(a.m.field(a.l, "err", a.m.text(a.l, text)))
	return 1
}

func redisStatusReply(a args) int {
	s, ok := a.l.Get(1).(lua.LString)
	if !ok || a.l.GetTop() != 1 {
		a.l.Push(a.m.field(a.l, "err", lua.LString(textReplyArgs)))
		return 1
	}
	a.l.Push(a.m.field(a.l, "ok", s))
	return 1
}

func redisSetResp(a args) int {
	if a.l.GetTop() != 1 {
		a.m.raiseTable(a.l, "ERR redis.setresp() requires one argument.")
	}
	switch n, _ := toNumber(a.l.Get(1)); n {
	case 2, 3:
		a.m.resp3 = n == 3
		if s, ok := a.m.inv.Caller.(ProtocolSetter); ok {
			s.SetProtocol(resp.Protocol(n))
		}
	default:
		a.m.raiseTable(a.l, "ERR RESP version must be 2 or 3.")
	}
	return 0
}

// redisSetRepl checks its argument and changes nothing: a script is replicated as one log entry.
func redisSetRepl(a args) int {
	if a.l.GetTop() != 1 {
		a.m.raiseTable(a.l, "ERR redis.set_repl() requires two arguments.")
	}
	n, _ := toNumber(a.l.Get(1))
	if int64(n)&^replAll != 0 {
		a.m.raiseTable(a.l, "ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.")
	}
	return 0
}

func redisReplicate(a args) int {
	a.l.Push(lua.LTrue)
	return 1
}

func redisBreakpoint(a args) int {
	a.l.Push(lua.LFalse)
	return 1
}

func redisDebug(args) int { return 0 }
