package runner

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/redfence/redfence/commands/resp"
)

// The parts that programs are put together from.
var (
	//go:embed lua/gate.lua
	luaGate string
	//go:embed lua/wire.lua
	luaWire string
	//go:embed lua/keys.lua
	luaKeys string
	//go:embed lua/run.lua
	luaRun string
	//go:embed lua/exec.lua
	luaExec string
	//go:embed lua/script.lua
	luaScript string
	//go:embed lua/wrapped.lua
	luaWrapped string
	//go:embed lua/draw.lua
	luaDraw string
	//go:embed lua/commands.lua
	luaCommands string
	//go:embed lua/undo.lua
	luaUndo string
	//go:embed lua/copy.lua
	luaCopy string
	//go:embed lua/accept.lua
	luaAccept string
	//go:embed lua/states.lua
	luaStates string
	//go:embed lua/fetch.lua
	luaFetch string
	//go:embed lua/scan.lua
	luaScan string
	//go:embed lua/admit.lua
	luaAdmit string
	//go:embed lua/resource.lua
	luaResource string
	//go:embed lua/raise.lua
	luaRaise string
)

// The programs of the operations that are not Run.
var (
	undoProgram   = newProgram(assemble(luaGate, luaWire, luaKeys, luaUndo))
	copyProgram   = newProgram(assemble(luaGate, luaWire, luaKeys, luaCopy))
	acceptProgram = newProgram(assemble(luaGate, luaWire, luaKeys, luaAccept))
	fetchProgram  = newProgram(assemble(luaGate, luaWire, luaKeys, luaStates, luaFetch))
	scanProgram   = newProgram(assemble(luaGate, luaWire, luaKeys, luaStates, luaScan))
	admitProgram  = newProgram(assemble(luaGate, luaWire, luaKeys, luaAdmit))
	raiseProgram  = newProgram(assemble(luaGate, luaWire, luaRaise))
)

// recorder is what every form of Run shares.
var recorder = assemble(luaGate, luaWire, luaKeys, luaRun, luaResource, luaExec, luaScript)

// assemble joins parts on one line, without their comments, and puts in what Go knows.
func assemble(parts ...string) string {
	var out strings.Builder
	for _, part := range parts {
		for line := range strings.Lines(part) {
			line = strings.TrimSpace(line)
			if line != "" && !strings.HasPrefix(line, "--") {
				out.WriteString(line)
				out.WriteByte(' ')
			}
		}
	}
	return luaTexts.Replace(out.String())
}

// luaTexts are the errors that the programs give, and what they know of commands.
var luaTexts = strings.NewReplacer(
	"$ROWS", quoted(rowsText()),
	"$NODEERRORS", quoted(" "+strings.Join(nodeErrors, " ")+" "),
	"$CANNOTISSUE", quoted(string(resp.ErrCannotIssue)),
	"$FENCEGET", quoted(string(resp.ErrFenceWithGet)),
	"$TOOMANYCALLS", quoted(string(resp.ErrScriptCalls)),
	"$UNKNOWNCOMMAND", quoted(string(resp.ErrScriptUnknown)),
	"$READONLY", quoted(string(resp.ErrScriptReadOnly)),
	"$MAYWRITE", quoted(string(resp.ErrScriptMayWrite)),
	"$HIDDEN", quoted(string(resp.ErrRedfenceKeys)),
	"$RESERVED", quoted(string(resp.ErrReserved)),
	"$ARITY", quoted(string(resp.ErrScriptArity)),
	"$FORBIDDEN", quoted(string(resp.ErrScriptForbidden)),
	"$NOTSERVED", quoted(notServed[0]), "$NOTBECAUSE", quoted(notServed[1]),
	"$TOOLONG", quoted(string(resp.ErrTooManyWords)),
	"$NOTALIKE", quoted("it would not do the same on all nodes"),
	"$BADTOKEN", quoted(string(resp.ErrToken)),
	"$NODIGEST", quoted("the nodes cannot compute one; compare values, with IFEQ or IFNE"),
	"$DRAWS", quoted("the nodes would draw differently"),
	"$ONEDB", quoted("a request works on one database"),
)

// notServed is the error for what quorum mode cannot serve, without the command and the cause.
var notServed = strings.Split(string(resp.NotInQuorum("|", "")), "|")

// quoted writes a string as Lua does.
func quoted(s string) string {
	var out strings.Builder
	out.WriteByte('\'')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\'' || c == '\\':
			out.WriteByte('\\')
			out.WriteByte(c)
		case c < ' ' || c > '~':
			fmt.Fprintf(&out, "\\%03d", c)
		default:
			out.WriteByte(c)
		}
	}
	out.WriteByte('\'')
	return out.String()
}

// nodeErrors are the codes of errors that tell of the node and not of the command.
var nodeErrors = []string{
	"OOM", "READONLY", "MISCONF", "LOADING", "BUSY", "NOREPLICAS", "MASTERDOWN", "CLUSTERDOWN", "MOVED", "ASK", "NOAUTH", "NOPERM",
	"NOSCRIPT", "TRYAGAIN",
}
