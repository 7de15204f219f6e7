package script

import (
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

// function is what the rewriter knows of the function that it is in.
type function struct {
	parent   *function
	names    []string // locals in scope, innermost last
	varargs  bool
	captured map[string]bool // locals of enclosing functions that it uses
	consts   map[string]bool
	dots     bool // it uses "..."
	arg      bool // it may use "arg", the table that Lua 5.1 makes of varargs where there is no "..."
}

func (r *rewriter) push(params *ast.ParList) {
	r.fn = &function{
		parent: r.fn, names: append([]string(nil), params.Names...), varargs: params.HasVargs,
		captured: map[string]bool{}, consts: map[string]bool{},
	}
	if params.HasVargs && r.fn.parent != nil && r.fn.parent.parent != nil { // not in the main function
		r.fn.declare(argName)
	}
}

const argName = "arg"

// owner is the function that is out functions around the present one.
func (r *rewriter) owner(out int) *function {
	g := r.fn
	for range out {
		g = g.parent
	}
	return g
}

func (f *function) declare(names ...string) { f.names = append(f.names, names...) }

func (f *function) mark() int { return len(f.names) }

func (f *function) release(mark int) { f.names = f.names[:mark] }

func (f *function) has(name string) bool {
	for _, v := range slices.Backward(f.names) {
		if v == name {
			return true
		}
	}
	return false
}

// find tells how an identifier is reached, in the words of Lua's error texts, and how many functions out its local is.
func (f *function) find(name string) (kind string, out int) {
	for g := f; g != nil; g = g.parent {
		if !g.has(name) {
			out++
			continue
		}
		if out == 0 {
			return "local", 0
		}
		return "upvalue", out
	}
	return "global", 0
}

// resolve notes which functions capture the local that e names, and counts the compiler's search for it.
func (r *rewriter) resolve(e *ast.IdentExpr) {
	kind, out := r.fn.find(e.Value)
	g := r.fn
	if e.Value == argName && kind != "global" {
		r.owner(out).arg = true
	}
	for range out {
		g.captured[e.Value] = true
		if len(g.captured) > maxUpvalues {
			r.fail(e.Line(), errUpvalues)
		}
		g = g.parent
	}
	for g := r.fn; g != nil; g = g.parent {
		r.spend(e.Line(), len(g.names))
	}
	if kind == "global" {
		r.constant(e.Line(), e.Value)
	}
}

// constant counts the compiler's search for a constant.
func (r *rewriter) constant(line int, value string) {
	r.fn.consts[value] = true
	r.spend(line, len(r.fn.consts))
}

func (r *rewriter) spend(line, n int) {
	if r.work += n; r.work > maxWork {
		r.fail(line, errTooComplex)
	}
}

// describe names an expression as Lua's error texts do: local 'x', field 'y', or nothing.
func (r *rewriter) describe(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.IdentExpr:
		kind, _ := r.fn.find(e.Value)
		return kind + " '" + e.Value + "'"
	case *ast.AttrGetExpr:
		if key := constKey(e.Key); key != "" {
			return "field '" + key + "'"
		}
		return "field '?'"
	}
	return ""
}

func constKey(e ast.Expr) string {
	if s, ok := e.(*ast.StringExpr); ok {
		return s.Value
	}
	return ""
}
