package script_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redfence/redfence/raftstore/script"
)

// TestHostileTexts compiles texts that are made to blow up a parser or compiler.
func TestHostileTexts(t *testing.T) {
	many := func(n int, f func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(f(i))
		}
		return b.String()
	}
	for _, tc := range []struct{ name, text, want string }{
		{"nested parentheses", "return " + strings.Repeat("(", 100000) + "1" + strings.Repeat(")", 100000), ""},
		{"nested tables", "return " + strings.Repeat("{", 50000) + strings.Repeat("}", 50000), "too many syntax levels"},
		{"nested functions", strings.Repeat("return function() ", 10000) + strings.Repeat(" end", 10000), "too many syntax levels"},
		{"nested blocks", strings.Repeat("do ", 30000) + strings.Repeat(" end", 30000), "too many syntax levels"},
		{"nested calls", "return " + strings.Repeat("f(", 50000) + strings.Repeat(")", 50000), "too many syntax levels"},
		{"nested ifs", strings.Repeat("if x then ", 15000) + strings.Repeat(" end", 15000), "too many syntax levels"},
		{"long elseif", "if x then " + strings.Repeat("elseif y then ", 10000) + "end", "too many syntax levels"},
		{"long concatenation", "return 'a'" + strings.Repeat("..'a'", 40000), "too many syntax levels"},
		{"concatenation", "return 'a'" + strings.Repeat("..'a'", 3900), ""},
		{"long sum", "return 1" + strings.Repeat("+1", 100000), "too many syntax levels"},
		{"unary minus", "return " + strings.Repeat("- ", 100000) + "1", "too many syntax levels"},
		{"not not", "return " + strings.Repeat("not ", 50000) + "1", "too many syntax levels"},
		{"power", "return 1" + strings.Repeat("^1", 50000), "too many syntax levels"},
		{"index chain", "return x" + strings.Repeat(".x", 100000), "too many syntax levels"},
		{"call chain", "return x" + strings.Repeat("()", 100000), "too many syntax levels"},
		{"many constants", "return {" + many(30000, func(i int) string { return fmt.Sprint(i, ",") }) + "}", "too complex"},
		{"many globals", many(20000, func(i int) string { return fmt.Sprint("a", i, "() ") }), "too complex"},
		{"long list", "return {" + strings.Repeat("1,", 60000) + "}", "constructor too long"},
		{"many locals", many(300, func(i int) string { return fmt.Sprint("local a", i, " ") }), "too many local variables"},
		{"many upvalues", many(70, func(i int) string { return fmt.Sprint("local a", i, " ") }) +
			"return function() return {" + many(70, func(i int) string { return fmt.Sprint("a", i, ",") }) + "} end", "more than 60 upvalues"},
		{"many targets", strings.TrimSuffix(strings.Repeat("a,", 200), ",") + " = 1", "too complex"},
		{"long string", "return #'" + strings.Repeat("x", 200000) + "'", ""},
		{"too long", strings.Repeat("-", 300000), "has 300000 bytes"},
		{"long comment", "--[[" + strings.Repeat("x", 200000), "invalid multiline comment"},
		{"binary", "\x1bLua\x51\x00", "near"},
		{"zero bytes", "return 1\x00\x00", "near"},
		{"goto", "goto a ::a::", "'=' expected near 'a'"},
		{"label", "::a::", "unexpected symbol"},
		{"break outside", "break", "no loop to break"},
		{"varargs outside", "local function f() return ... end", "outside a vararg function"},
		{"assignment to call", "f() = 1", "near"},
		{"empty", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			begin := cpuTime(t)
			err := testEngine().Check(tc.text)
			if took := cpuTime(t) - begin; took > ends*slowdown {
				t.Errorf("took %v", took)
			}
			switch {
			case tc.want == "" && err != nil:
				t.Error(err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestCompileErrors(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"return foo bar", "ERR Error compiling script (new function): user_script:1: syntax error near 'bar'"},
		{"\n\nif true then", "ERR Error compiling script (new function): user_script:3: syntax error near '<eof>'"},
		{"x = \"abc", "ERR Error compiling script (new function): user_script:1: unfinished string near '<eof>'"},
		{"#!lua\n\nx = = 1", "ERR Error compiling script (new function): user_script:3: syntax error near '='"},
		{"#!py\n", "ERR Unexpected engine in script shebang: #!py"},
	} {
		if err := testEngine().Check(tc.text); err == nil || err.Error() != tc.want {
			t.Errorf("%q\n got %v\nwant %v", tc.text, err, tc.want)
		}
		if v, out := testEngine().Run(invocation(tc.text, nil)); out != script.Failed || v.Str != tc.want {
			t.Errorf("%q ran to %v %v", tc.text, out, v)
		}
	}
}

func TestFlags(t *testing.T) {
	f, err := script.Flags("#!lua flags=no-writes,allow-oom,allow-stale,no-cluster,allow-cross-slot-keys\nreturn 1")
	want := script.FlagSet{Declared: true, NoWrites: true, AllowOOM: true, AllowStale: true, NoCluster: true, AllowCrossSlotKeys: true}
	if err != nil || f != want {
		t.Errorf("got %+v, %v", f, err)
	}
	if f, err := script.Flags("return 1"); err != nil || f.Declared {
		t.Errorf("got %+v, %v", f, err)
	}
}
