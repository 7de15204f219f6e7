package script

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/yuin/gopher-lua/ast"
)

// The functions that rewritten code calls. They are parameters of a function around the script, so a script reaches them
// as upvalues; the blank in their names keeps scripts from naming them.
const (
	fnAlloc  = "(alloc) "  // (bytes, captures): pays for the tables and closures of one statement
	fnSet    = "(set) "    // (table, key, value): an index assignment
	fnFill   = "(fill) "   // (table, key, value, ...): the computed keys of a constructor
	fnConcat = "(concat) " // (a, b, ...): a .. b .. ...
	fnBound  = "(bound) "  // (value, which): one bound of a numeric for
	fnMod    = "(mod) "    // (a, b): a % b
	fnLess   = "(less) "   // (a, b): a < b
	fnLessEq = "(lesseq) " // (a, b): a <= b
	fnMore   = "(more) "   // (a, b): a > b
	fnMoreEq = "(moreeq) " // (a, b): a >= b
	fnLength = "(length) " // (a): #a
	fnNegate = "(negate) " // (a): -a
	fnPass   = "(pass) "   // (...): pays for a list of values of any length

	fnCall    = "(call) "    // redis.call, when the script names it so
	fnPcall   = "(pcall) "   // redis.pcall
	fnGlobals = "(globals) " // no function but the table of globals
)

var helperNames = []string{
	fnAlloc, fnSet, fnFill, fnConcat, fnBound, fnMod, fnLess, fnLessEq, fnMore, fnMoreEq, fnLength, fnNegate, fnPass, fnCall, fnPcall,
	fnGlobals,
}

var comparisons = map[string]string{"<": fnLess, "<=": fnLessEq, ">": fnMore, ">=": fnMoreEq}

// Bounds of what is compiled. The library's compiler is recursive and searches lists in a straight line, so both the
// nesting and that work are bounded; neither bound is near anything that a person writes.
const (
	maxNesting   = 240       // real Lua: 200
	maxWork      = 5_000_000 // comparisons of names and constants
	maxUpvalues  = 60        // real Lua's LUAI_MAXUPVALUES
	maxListItems = 20_000    // the library's compiler breaks constructors with more than 25,550
	maxConcat    = 4000      // operands of one chain of ".."
	chunkItems   = 40        // operands of one helper call: a function has 200 registers
)

// Bytes charged for what one evaluation of an expression makes. They are rounded up from the library's structures.
const (
	tableBytes   = 512
	fieldBytes   = 192
	itemBytes    = 16
	closureBytes = 128
	argBytes     = 4096
)

var (
	errNesting    = errors.New("chunk has too many syntax levels")
	errTooComplex = errors.New("script too complex: too many names and constants in one function")
	errLongList   = errors.New("constructor too long")
)

// rewriter changes a parsed script so that it means in gopher-lua what it means in Lua 5.1 and so that no instruction
// does unbounded work unseen by the budget. It works in place.
type rewriter struct {
	depth, work int
	bytes       int64 // charged to the statement at hand
	captures    int64
	fn          *function
	sites       sites
	err         error
}

// rewrite returns the statements of the chunk to compile: a function of the helpers that returns the script as a function.
func rewrite(chunk []ast.Stmt) ([]ast.Stmt, sites, error) {
	r := &rewriter{sites: sites{}}
	r.push(&ast.ParList{HasVargs: true})
	for _, name := range helperNames {
		r.fn.declare(name)
	}
	main := &ast.FunctionExpr{ParList: &ast.ParList{HasVargs: true}, Stmts: chunk}
	r.function(main)
	helpers := &ast.LocalAssignStmt{Names: helperNames, Exprs: []ast.Expr{&ast.Comma3Expr{}}}
	return []ast.Stmt{helpers, &ast.ReturnStmt{Exprs: []ast.Expr{main}}}, r.sites, r.err
}

func (r *rewriter) fail(line int, err error) {
	if r.err == nil {
		r.err = fmt.Errorf("user_script:%d: %w", line, err)
	}
}

// enter guards a recursion; leave ends it.
func (r *rewriter) enter(line int) bool {
	if r.depth++; r.depth > maxNesting {
		r.fail(line, errNesting)
	}
	return r.err == nil
}

func (r *rewriter) leave() { r.depth-- }

// block rewrites the statements of a scope.
func (r *rewriter) block(stmts []ast.Stmt) []ast.Stmt {
	mark := r.fn.mark()
	out := r.statements(stmts)
	r.fn.release(mark)
	return out
}

// statements puts in front of each statement the charge for what it makes.
func (r *rewriter) statements(stmts []ast.Stmt) []ast.Stmt {
	bytes, captures := r.bytes, r.captures
	out := make([]ast.Stmt, 0, len(stmts)+4)
	for _, s := range stmts {
		r.bytes, r.captures = 0, 0
		rewritten := r.statement(s)
		if charge := r.charge(s.Line()); charge != nil {
			out = append(out, charge)
		}
		out = append(out, rewritten...)
	}
	r.bytes, r.captures = bytes, captures
	return out
}

// charge is the statement that pays for what was counted since it was last zero, nil when that is nothing.
func (r *rewriter) charge(line int) ast.Stmt {
	if r.bytes == 0 {
		return nil
	}
	return callStmt(line, fnAlloc, number(line, r.bytes), number(line, r.captures))
}

func (r *rewriter) statement(s ast.Stmt) []ast.Stmt {
	if !r.enter(s.Line()) {
		return nil
	}
	defer r.leave()
	switch s := s.(type) {
	case *ast.AssignStmt:
		return r.assign(s)
	case *ast.LocalAssignStmt:
		r.local(s)
	case *ast.FuncCallStmt:
		s.Expr = r.expr(s.Expr)
	case *ast.DoBlockStmt:
		s.Stmts = r.block(s.Stmts)
	case *ast.WhileStmt:
		s.Condition = r.expr(s.Condition)
		s.Stmts = r.loop(s.Line(), s.Stmts)
	case *ast.RepeatStmt:
		r.repeat(s)
	case *ast.IfStmt:
		s.Condition = r.expr(s.Condition)
		s.Then = r.block(s.Then)
		s.Else = r.block(s.Else)
	case *ast.NumberForStmt:
		r.numberFor(s)
	case *ast.GenericForStmt:
		r.genericFor(s)
	case *ast.FuncDefStmt:
		return r.define(s)
	case *ast.ReturnStmt:
		r.results(s)
	case *ast.LabelStmt:
		r.fail(s.Line(), errors.New("unexpected symbol near ':'"))
	case *ast.GotoStmt:
		r.fail(s.Line(), fmt.Errorf("'=' expected near '%s'", s.Label))
	}
	return []ast.Stmt{s}
}

// loop is a body whose condition is evaluated before each turn: its charge is due each time.
func (r *rewriter) loop(line int, stmts []ast.Stmt) []ast.Stmt {
	charge := r.charge(line)
	body := r.block(stmts)
	if charge != nil {
		body = append([]ast.Stmt{charge}, body...)
	}
	return body
}

// repeat evaluates its condition inside of the scope of its body.
func (r *rewriter) repeat(s *ast.RepeatStmt) {
	mark := r.fn.mark()
	s.Stmts = r.statements(s.Stmts)
	s.Condition = r.expr(s.Condition)
	if charge := r.charge(s.Line()); charge != nil {
		s.Stmts = append([]ast.Stmt{charge}, s.Stmts...)
	}
	r.fn.release(mark)
}

func (r *rewriter) numberFor(s *ast.NumberForStmt) {
	s.Init = r.bound(s.Init, 1)
	s.Limit = r.bound(s.Limit, 2)
	if s.Step != nil {
		s.Step = r.bound(s.Step, 3)
	}
	mark := r.fn.mark()
	r.fn.declare("(for)", "(for)", "(for)", s.Name)
	s.Stmts = r.block(s.Stmts)
	r.fn.release(mark)
}

// bound lets a bound that is not a literal pass through the conversion of strings that Lua 5.1 has there and gopher-lua
// lacks.
func (r *rewriter) bound(e ast.Expr, which int64) ast.Expr {
	e = r.expr(e)
	if _, ok := e.(*ast.NumberExpr); ok {
		return e
	}
	return call(e.Line(), fnBound, e, number(e.Line(), which))
}

func (r *rewriter) genericFor(s *ast.GenericForStmt) {
	r.exprs(s.Exprs)
	mark := r.fn.mark()
	r.fn.declare("(for)", "(for)", "(for)")
	r.fn.declare(s.Names...)
	s.Stmts = r.block(s.Stmts)
	r.fn.release(mark)
}

// local declares its names behind its values; gopher-lua does not tell "local function f" from "local f = function".
func (r *rewriter) local(s *ast.LocalAssignStmt) {
	if len(s.Names) == 1 && len(s.Exprs) == 1 {
		if _, ok := s.Exprs[0].(*ast.FunctionExpr); ok {
			r.fn.declare(s.Names...)
			r.exprs(s.Exprs)
			return
		}
	}
	r.exprs(s.Exprs)
	r.fn.declare(s.Names...)
}

// results pays for lists of results behind other results: each level of calls would copy them once more.
func (r *rewriter) results(s *ast.ReturnStmt) {
	r.exprs(s.Exprs)
	n := len(s.Exprs)
	if n < 2 {
		return
	}
	if c, ok := s.Exprs[n-1].(*ast.FuncCallExpr); ok && !c.AdjustRet {
		s.Exprs[n-1] = open(call(c.Line(), fnPass, c))
	}
}

func (r *rewriter) define(s *ast.FuncDefStmt) []ast.Stmt {
	target := s.Name.Func
	if target == nil {
		key := &ast.StringExpr{Value: s.Name.Method}
		key.SetLine(s.Line())
		attr := &ast.AttrGetExpr{Object: s.Name.Receiver, Key: key}
		attr.SetLine(s.Line())
		target = attr
		params := *s.Func.ParList
		params.Names = append([]string{"self"}, params.Names...)
		s.Func.ParList = &params
	}
	assign := &ast.AssignStmt{Lhs: []ast.Expr{target}, Rhs: []ast.Expr{s.Func}}
	assign.SetLine(s.Line())
	return r.assign(assign)
}

// assign turns index assignments into calls: those check for read-only tables and pay for the growth of tables. Several
// targets at once go through locals, so that all values are known before the first assignment.
func (r *rewriter) assign(s *ast.AssignStmt) []ast.Stmt {
	line := s.Line()
	if len(s.Lhs) == 1 && len(s.Rhs) == 1 {
		return []ast.Stmt{r.store(line, r.target(s.Lhs[0]), r.expr(s.Rhs[0]))}
	}
	if 2*len(s.Lhs)+len(s.Rhs) > 150 {
		r.fail(line, errors.New("function or expression too complex"))
		return nil
	}
	keep := &ast.LocalAssignStmt{}
	keep.SetLine(line)
	targets := make([]ast.Expr, len(s.Lhs))
	for i, l := range s.Lhs {
		targets[i] = r.keepTarget(keep, r.target(l), i)
	}
	values := &ast.LocalAssignStmt{Exprs: r.exprs(s.Rhs)}
	values.SetLine(line)
	body := []ast.Stmt{keep, values}
	if len(keep.Names) == 0 {
		body = body[1:]
	}
	for i, t := range targets {
		values.Names = append(values.Names, fmt.Sprintf("(value %d)", i))
		body = append(body, r.store(line, t, ident(line, values.Names[i])))
	}
	block := &ast.DoBlockStmt{Stmts: body}
	block.SetLine(line)
	return []ast.Stmt{block}
}

// target rewrites what is inside of an assignment's left side.
func (r *rewriter) target(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.IdentExpr:
		r.resolve(e)
	case *ast.AttrGetExpr:
		r.sites.add(e.Line(), site{kind: siteIndex, key: constKey(e.Key), names: []string{r.describe(e.Object)}})
		e.Object, e.Key = r.expr(e.Object), r.expr(e.Key)
	}
	return e
}

// keepTarget evaluates the table and the key of a target into locals.
func (r *rewriter) keepTarget(keep *ast.LocalAssignStmt, e ast.Expr, i int) ast.Expr {
	attr, ok := e.(*ast.AttrGetExpr)
	if !ok {
		return e
	}
	table, key := fmt.Sprintf("(table %d)", i), fmt.Sprintf("(key %d)", i)
	keep.Names = append(keep.Names, table, key)
	keep.Exprs = append(keep.Exprs, single(attr.Object), single(attr.Key))
	kept := &ast.AttrGetExpr{Object: ident(e.Line(), table), Key: ident(e.Line(), key)}
	kept.SetLine(e.Line())
	return kept
}

func (r *rewriter) store(line int, target, value ast.Expr) ast.Stmt {
	switch t := target.(type) {
	case *ast.AttrGetExpr:
		return callStmt(line, fnSet, t.Object, t.Key, single(value))
	case *ast.IdentExpr:
		if kind, _ := r.fn.find(t.Value); kind == "global" {
			return callStmt(line, fnSet, ident(line, fnGlobals), str(line, t.Value), single(value))
		}
	}
	s := &ast.AssignStmt{Lhs: []ast.Expr{target}, Rhs: []ast.Expr{value}}
	s.SetLine(line)
	return s
}

// function rewrites a function's body and counts what making the closure costs.
func (r *rewriter) function(f *ast.FunctionExpr) {
	bytes, captures := r.bytes, r.captures
	r.push(f.ParList)
	f.Stmts = r.block(f.Stmts)
	r.trimVarargs(f)
	captured := int64(len(r.fn.captured))
	r.fn = r.fn.parent
	r.bytes = bytes + closureBytes + 64*captured
	r.captures = captures + captured
}

// trimVarargs makes a function without use for its varargs one without varargs, since the library would make the table
// "arg" at each call; where a function wants that table, it pays for it.
func (r *rewriter) trimVarargs(f *ast.FunctionExpr) {
	switch {
	case !f.ParList.HasVargs || r.fn.dots:
	case r.fn.arg:
		charge := callStmt(f.Line(), fnAlloc, number(f.Line(), argBytes), number(f.Line(), 0))
		f.Stmts = append([]ast.Stmt{charge}, f.Stmts...)
	default:
		f.ParList = &ast.ParList{Names: f.ParList.Names}
	}
}

func number(line int, n int64) ast.Expr {
	e := &ast.NumberExpr{Value: strconv.FormatInt(n, 10)}
	e.SetLine(line)
	return e
}

func str(line int, s string) ast.Expr {
	e := &ast.StringExpr{Value: s}
	e.SetLine(line)
	return e
}

func ident(line int, name string) ast.Expr {
	e := &ast.IdentExpr{Value: name}
	e.SetLine(line)
	return e
}

// call is a call of a helper that gives one value.
func call(line int, helper string, args ...ast.Expr) *ast.FuncCallExpr {
	e := &ast.FuncCallExpr{Func: ident(line, helper), Args: args, AdjustRet: true}
	e.SetLine(line)
	return e
}

// open lets a call give all its values.
func open(e *ast.FuncCallExpr) *ast.FuncCallExpr {
	e.AdjustRet = false
	return e
}

func callStmt(line int, helper string, args ...ast.Expr) ast.Stmt {
	s := &ast.FuncCallStmt{Expr: open(call(line, helper, args...))}
	s.SetLine(line)
	return s
}

// single cuts an expression to one value.
func single(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.FuncCallExpr:
		e.AdjustRet = true
	case *ast.Comma3Expr:
		e.AdjustRet = true
	}
	return e
}
