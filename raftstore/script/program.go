package script

import (
	"errors"
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// chunkName is what Redis calls a script in error texts.
const chunkName = "user_script"

// program is a compiled script.
type program struct {
	proto *lua.FunctionProto
	sites sites
	size  int
	owner *machine       // the Lua state that fn belongs to
	fn    *lua.LFunction // the script as a closure of that state
	short *shortcut      // nil for most
}

// compileScript compiles a script with its first line. Errors carry the text of Redis's reply.
func compileScript(text string, limit int) (*program, error) {
	if len(text) > limit {
		return nil, fmt.Errorf("ERR redfence: script has %d bytes, the limit is %d", len(text), limit)
	}
	_, n, err := shebang(text)
	if err != nil {
		return nil, err
	}
	p, err := compileChunk(text[n:], chunkName)
	if err != nil {
		return nil, fmt.Errorf("ERR Error compiling script (new function): %w", err)
	}
	return p, nil
}

func compileChunk(text, name string) (*program, error) {
	chunk, err := parse.Parse(strings.NewReader(text), name)
	if err != nil {
		return nil, syntaxError(err, text, name)
	}
	short := shortcutOf(chunk)
	chunk, sites, err := rewrite(chunk)
	if err != nil {
		return nil, renamed(err, name)
	}
	proto, err := lua.Compile(chunk, name)
	if err != nil {
		return nil, syntaxError(err, text, name)
	}
	return &program{proto: proto, sites: sites, size: len(text), short: short}, nil
}

func renamed(err error, name string) error {
	return errors.New(name + strings.TrimPrefix(err.Error(), chunkName))
}

// syntaxError words the library's errors as Lua does: chunk:line: message near 'token'. The messages are less exact,
// since the library's parser does not know what it expected.
func syntaxError(err error, text, name string) error {
	if pe, ok := errors.AsType[*parse.Error](err); ok {
		line, token := pe.Pos.Line, pe.Token
		if line == parse.EOF {
			line, token = 1+strings.Count(text, "\n"), "<eof>"
		}
		msg := pe.Message
		if strings.HasPrefix(msg, "unterminated") {
			msg = "unfinished string"
		}
		return fmt.Errorf("%s:%d: %s near '%s'", name, line, msg, token)
	}
	if ce, ok := errors.AsType[*lua.CompileError](err); ok {
		return fmt.Errorf("%s:%d: %s", name, ce.Line, ce.Message)
	}
	return fmt.Errorf("%s:1: %w", name, err)
}
