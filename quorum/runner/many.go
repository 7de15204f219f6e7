package runner

import (
	"strconv"
	"strings"
)

// leanMany runs many lean forms in one call.
var leanMany = newProgram(strings.ReplaceAll(leanText("many"), "$FORMS", leanForm("set")+leanForm("release")+leanForm("extend")))

// leanText is the text of a file in lua/lean.
func leanText(name string) string {
	text, _ := leanFiles.ReadFile("lua/lean/" + name + ".lua")
	return string(text)
}

// leanForm makes a function of a lean form, whose parameters are what lua/lean/gate.lua finds out.
func leanForm(name string) string {
	return "local function " + name + "(KEYS, ARGV, known, number, mark, token, till, request, link)\n" + leanText(name) + "\nend\n"
}

// Many is the program that runs several operations of which Joins is true in one call, in their order.
func Many() *Program { return leanMany }

// Joins tells whether an operation may be one of many in one call.
func Joins(op Op) bool {
	r, ok := op.(*Run)
	return ok && r.letter() != ""
}

// letter is the name of a lean form in lua/lean/many.lua, "" when it has none.
func (r *Run) letter() string {
	switch r.build().program {
	case leanSet:
		return "s"
	case leanRelease:
		return "r"
	case leanExtend:
		return "e"
	}
	return ""
}

// BeginMany starts the command line of several operations.
func BeginMany(line []any) []any { return append(line, "evalsha", leanMany.SHA, 0) }

// AddMany adds an operation to the command line.
func AddMany(line []any, op Op, at Target) []any {
	r, _ := op.(*Run)
	line = append(line, r.letter(), deadline(at))
	return append(line, r.built.args[3:]...)
}

// EndMany completes the command line.
func EndMany(line []any, at Target) []any { return append(line, at.Canary) }

func deadline(at Target) string {
	if at.Deadline == 0 {
		return "9007199254740991"
	}
	return strconv.FormatInt(at.Deadline, 10)
}
