package script

import (
	"errors"
	"strconv"

	"github.com/yuin/gopher-lua/ast"
)

func (r *rewriter) exprs(list []ast.Expr) []ast.Expr {
	for i := range list {
		list[i] = r.expr(list[i])
	}
	return list
}

func (r *rewriter) expr(e ast.Expr) ast.Expr {
	if !r.enter(e.Line()) {
		return e
	}
	defer r.leave()
	switch e := e.(type) {
	case *ast.NumberExpr:
		return r.literal(e)
	case *ast.StringExpr:
		r.constant(e.Line(), e.Value)
	case *ast.IdentExpr:
		r.resolve(e)
	case *ast.Comma3Expr:
		return r.varargs(e)
	case *ast.AttrGetExpr:
		r.sites.add(e.Line(), site{kind: siteIndex, key: constKey(e.Key), names: []string{r.describe(e.Object)}})
		e.Object, e.Key = r.expr(e.Object), r.expr(e.Key)
	case *ast.TableExpr:
		return r.table(e)
	case *ast.FuncCallExpr:
		r.call(e)
	case *ast.FunctionExpr:
		r.function(e)
	case *ast.LogicalOpExpr:
		e.Lhs, e.Rhs = r.expr(e.Lhs), r.expr(e.Rhs)
	default:
		return r.operator(e)
	}
	return e
}

func (r *rewriter) operator(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.RelationalOpExpr:
		return r.compare(e)
	case *ast.StringConcatOpExpr:
		return r.concat(e)
	case *ast.ArithmeticOpExpr:
		return r.arithmetic(e)
	case *ast.UnaryMinusOpExpr:
		r.operands(e.Line(), siteNegate, e.Expr)
		e.Expr = r.expr(e.Expr)
		if _, ok := e.Expr.(*ast.NumberExpr); !ok {
			return call(e.Line(), fnNegate, e.Expr)
		}
	case *ast.UnaryNotOpExpr:
		e.Expr = r.expr(e.Expr)
	case *ast.UnaryLenOpExpr:
		r.operands(e.Line(), siteLength, e.Expr)
		return call(e.Line(), fnLength, r.expr(e.Expr))
	}
	return e
}

// literal gives a number the form that the library's compiler reads right: it takes a leading zero for octal and does
// not know numbers out of range.
func (r *rewriter) literal(e *ast.NumberExpr) ast.Expr {
	n, ok := parseNumber(e.Value)
	if !ok {
		r.fail(e.Line(), errors.New("malformed number near '"+e.Value+"'"))
		return e
	}
	e.Value = strconv.FormatFloat(float64(n), 'g', -1, 64)
	r.constant(e.Line(), e.Value)
	return e
}

// varargs pays for a list of values of any length.
func (r *rewriter) varargs(e *ast.Comma3Expr) ast.Expr {
	if !r.fn.varargs {
		r.fail(e.Line(), errors.New("cannot use '...' outside a vararg function near '...'"))
		return e
	}
	r.fn.dots = true
	if e.AdjustRet {
		return e
	}
	return open(call(e.Line(), fnPass, e))
}

func (r *rewriter) call(e *ast.FuncCallExpr) {
	var name string
	if e.Func != nil {
		name = r.describe(e.Func)
		e.Func = r.callee(e.Func)
	} else {
		name = "method '" + e.Method + "'"
		r.sites.add(e.Line(), site{kind: siteIndex, key: e.Method, names: []string{r.describe(e.Receiver)}})
		r.constant(e.Line(), e.Method)
		e.Receiver = r.expr(e.Receiver)
	}
	r.sites.add(e.Line(), site{kind: siteCall, names: []string{name}})
	r.exprs(e.Args)
}

// callee takes redis.call and redis.pcall from where they cannot change, which saves two look-ups.
func (r *rewriter) callee(e ast.Expr) ast.Expr {
	if attr, ok := e.(*ast.AttrGetExpr); ok {
		if lib, ok := attr.Object.(*ast.IdentExpr); ok && lib.Value == "redis" {
			kind, _ := r.fn.find(lib.Value)
			helper, known := commandCalls[constKey(attr.Key)]
			if kind == "global" && known {
				return ident(e.Line(), helper)
			}
		}
	}
	return r.expr(e)
}

var commandCalls = map[string]string{"call": fnCall, "pcall": fnPcall}

// table keeps items and constant names in the constructor; computed keys are filled in behind it, through the same
// checks as an assignment.
func (r *rewriter) table(e *ast.TableExpr) ast.Expr {
	fields := e.Fields[:0]
	var computed []ast.Expr
	items := 0
	for _, f := range e.Fields {
		f.Value = r.expr(f.Value)
		if f.Key == nil {
			items++
			r.bytes += itemBytes
		} else {
			f.Key = r.expr(f.Key)
			r.bytes += fieldBytes
			if _, ok := f.Key.(*ast.StringExpr); !ok {
				computed = append(computed, single(f.Key), single(f.Value))
				continue
			}
		}
		fields = append(fields, f)
	}
	if items > maxListItems {
		r.fail(e.Line(), errLongList)
	}
	e.Fields = fields
	r.bytes += tableBytes
	var out ast.Expr = e
	for len(computed) > 0 {
		n := min(len(computed), chunkItems)
		out = call(e.Line(), fnFill, append([]ast.Expr{out}, computed[:n]...)...)
		computed = computed[n:]
	}
	return out
}

// compare leaves to the VM what is surely about numbers; the VM compares strings byte by byte, unseen by the budget.
func (r *rewriter) compare(e *ast.RelationalOpExpr) ast.Expr {
	e.Lhs, e.Rhs = r.expr(e.Lhs), r.expr(e.Rhs)
	helper, ok := comparisons[e.Operator]
	if !ok || isNumeric(e.Lhs) || isNumeric(e.Rhs) {
		return e
	}
	return call(e.Line(), helper, e.Lhs, single(e.Rhs))
}

func isNumeric(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.NumberExpr, *ast.ArithmeticOpExpr, *ast.UnaryMinusOpExpr:
		return true
	case *ast.FuncCallExpr:
		fn, ok := e.Func.(*ast.IdentExpr)
		return ok && fn.Value == fnLength
	}
	return false
}

// arithmetic leaves all but "%" to the VM, where the library differs from Lua 5.1 for infinite operands. Strings are
// converted by metamethods (see openStringMeta).
func (r *rewriter) arithmetic(e *ast.ArithmeticOpExpr) ast.Expr {
	r.operands(e.Line(), siteArith, e.Lhs, e.Rhs)
	e.Lhs, e.Rhs = r.expr(e.Lhs), r.expr(e.Rhs)
	if e.Operator == "%" {
		return call(e.Line(), fnMod, e.Lhs, single(e.Rhs))
	}
	return e
}

// concat makes one call of a chain of "..", which associates to the right.
func (r *rewriter) concat(e *ast.StringConcatOpExpr) ast.Expr {
	parts := []ast.Expr{e.Lhs}
	rest := e.Rhs
	for {
		c, ok := rest.(*ast.StringConcatOpExpr)
		if !ok {
			break
		}
		parts = append(parts, c.Lhs)
		rest = c.Rhs
	}
	parts = append(parts, rest)
	if len(parts) > maxConcat {
		r.fail(e.Line(), errNesting)
		return e
	}
	r.operands(e.Line(), siteConcat, parts...)
	r.exprs(parts)
	for len(parts) > chunkItems { // from the left, which takes fewer registers; only a metamethod could tell
		head := concatCall(e.Line(), parts[:chunkItems])
		parts = append([]ast.Expr{head}, parts[chunkItems:]...)
	}
	return concatCall(e.Line(), parts)
}

func concatCall(line int, parts []ast.Expr) ast.Expr {
	last := len(parts) - 1
	parts[last] = single(parts[last])
	return call(line, fnConcat, parts...)
}

func (r *rewriter) operands(line int, kind siteKind, list ...ast.Expr) {
	names := make([]string, len(list))
	for i, e := range list {
		names[i] = r.describe(e)
	}
	r.sites.add(line, site{kind: kind, names: names})
}
