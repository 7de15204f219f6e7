package script

import (
	"strconv"
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"github.com/redfence/redfence/commands/resp"
)

// shortcut is the script with which nearly all lock clients release and renew,
//
//	if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end
//
// with any commands and operands in the two calls (https://redis.io/docs/latest/commands/set/, patterns), or the same with ~=
// and the returns the other way round. It runs without the interpreter as long as everything goes as usual; else the interpreter runs the script with the replies that were
// there already, so there is one result.
type shortcut struct {
	look      []operand // the first call
	against   operand   // what its reply is compared with
	then      []operand // the second call
	otherwise int64     // the number that is returned when they differ
}

// operand is a literal, or an element of KEYS or ARGV.
type operand struct {
	list  string // "KEYS", "ARGV"; empty for a literal
	text  string // the literal
	index int    // from 1
}

// The bounds within which a shortcut needs no budget: such strings do not raise the price of an instruction
// (budget.sees), and the interpreter would take about 100 steps and the bytes of the reply.
const (
	shortcutString   = priceUnit - 1
	shortcutOperands = 8
	shortcutSteps    = 10_000
	shortcutMemory   = 64 << 10
	exactInteger     = 1 << 53 // integers up to here are the same as a Lua number
)

// shortcutOf finds out whether a chunk is one; else it returns nil.
func shortcutOf(chunk []ast.Stmt) *shortcut {
	condition, ok := first(chunk).(*ast.IfStmt)
	if !ok || len(chunk) > 2 {
		return nil
	}
	equal, differ := condition.Then, condition.Else
	if len(chunk) == 2 {
		if len(differ) > 0 {
			return nil
		}
		differ = chunk[1:]
	}
	compared, ok := condition.Condition.(*ast.RelationalOpExpr)
	switch {
	case ok && compared.Operator == "==":
	case ok && compared.Operator == "~=":
		equal, differ = differ, equal
	default:
		return nil
	}
	s := &shortcut{look: callOf(compared.Lhs), then: callOf(returned(equal))}
	against, ok1 := operandOf(compared.Rhs)
	otherwise, ok2 := numberOf(returned(differ))
	if s.look == nil || s.then == nil || !ok1 || !ok2 || against.list == "" {
		return nil
	}
	s.against, s.otherwise = against, int64(otherwise)
	return s
}

func first(stmts []ast.Stmt) ast.Stmt {
	if len(stmts) == 0 {
		return nil
	}
	return stmts[0]
}

// returned is the only value that the only statement of a block returns, or nil.
func returned(block []ast.Stmt) ast.Expr {
	r, ok := first(block).(*ast.ReturnStmt)
	if !ok || len(block) != 1 || len(r.Exprs) != 1 {
		return nil
	}
	return r.Exprs[0]
}

// callOf are the operands of a redis.call, or nil.
func callOf(e ast.Expr) []operand {
	call, ok := e.(*ast.FuncCallExpr)
	if !ok || call.Receiver != nil || len(call.Args) == 0 || len(call.Args) > shortcutOperands {
		return nil
	}
	fn, ok := call.Func.(*ast.AttrGetExpr)
	if !ok || !isName(fn.Object, "redis") {
		return nil
	}
	if name, ok := fn.Key.(*ast.StringExpr); !ok || name.Value != "call" {
		return nil
	}
	list := make([]operand, 0, len(call.Args))
	for _, a := range call.Args {
		o, ok := operandOf(a)
		if !ok {
			return nil
		}
		list = append(list, o)
	}
	return list
}

func operandOf(e ast.Expr) (operand, bool) {
	switch e := e.(type) {
	case *ast.StringExpr:
		return operand{text: e.Value}, len(e.Value) <= shortcutString
	case *ast.AttrGetExpr:
		n, ok := numberOf(e.Key)
		for _, list := range []string{"KEYS", "ARGV"} {
			if ok && n > 0 && isName(e.Object, list) {
				return operand{list: list, index: n}, true
			}
		}
	}
	return operand{}, false
}

func isName(e ast.Expr, name string) bool {
	id, ok := e.(*ast.IdentExpr)
	return ok && id.Value == name
}

// numberOf is the value of a literal of a few decimal digits.
func numberOf(e ast.Expr) (int, bool) {
	n, ok := e.(*ast.NumberExpr)
	if !ok || len(n.Value) > 9 || strings.Trim(n.Value, "0123456789") != "" {
		return 0, false
	}
	i, err := strconv.Atoi(n.Value)
	return i, err == nil
}

// suits tells whether the run needs no budget and all operands are there.
func (s *shortcut) suits(inv Invocation, l Limits) bool {
	if l.Steps < shortcutSteps || l.Memory < shortcutMemory || len(inv.Keys)+len(inv.Args) > shortcutOperands {
		return false
	}
	for _, list := range [][]string{inv.Keys, inv.Args} {
		for _, text := range list {
			if len(text) > shortcutString {
				return false
			}
		}
	}
	return s.against.given(inv) && given(s.look, inv) && given(s.then, inv)
}

func given(line []operand, inv Invocation) bool {
	for _, o := range line {
		if !o.given(inv) {
			return false
		}
	}
	return true
}

func (o operand) given(inv Invocation) bool {
	switch o.list {
	case "KEYS":
		return o.index <= len(inv.Keys)
	case "ARGV":
		return o.index <= len(inv.Args)
	}
	return true
}

func (o operand) value(inv Invocation) string {
	switch o.list {
	case "KEYS":
		return inv.Keys[o.index-1]
	case "ARGV":
		return inv.Args[o.index-1]
	}
	return o.text
}

// run runs the script. When done is false the interpreter must run it, and a repeated Caller knows what was answered.
func (s *shortcut) run(inv Invocation, line []string) (reply resp.Value, known repeated, done bool) {
	known.Caller = inv.Caller
	v := known.ask(s.look, inv, line)
	switch {
	case known.replies[0].stop:
		return resp.Value{}, known, false
	case v.Kind == resp.Bulk && len(v.Str) <= shortcutString:
		if v.Str != s.against.value(inv) {
			return resp.Int(s.otherwise), known, true
		}
	case v.Kind == resp.Null:
		return resp.Int(s.otherwise), known, true
	default:
		return resp.Value{}, known, false
	}
	v = known.ask(s.then, inv, line)
	usual := v.Kind == resp.Integer && !known.replies[1].stop && v.Int() <= exactInteger && v.Int() >= -exactInteger
	return resp.Int(v.Int()), known, usual
}

// repeated is a Caller that gives the first replies again instead of executing the commands again.
type repeated struct {
	Caller
	replies [2]called
	have    int // of replies
	given   int
}

// repeat moves a Caller to the heap, where only those runs need it that go on in the interpreter.
func repeat(r repeated) Caller { return &r }

type called struct {
	v    resp.Value
	stop bool
}

// ask executes a command and keeps its reply.
func (r *repeated) ask(words []operand, inv Invocation, line []string) resp.Value {
	line = line[:0]
	for _, o := range words {
		line = append(line, o.value(inv))
	}
	c := &r.replies[r.have]
	r.have++
	c.v, c.stop = r.Caller.Call(line)
	return c.v
}

// Call implements Caller.
func (r *repeated) Call(line []string) (resp.Value, bool) {
	if r.given == r.have {
		return r.Caller.Call(line)
	}
	c := r.replies[r.given]
	r.given++
	return c.v, c.stop
}
