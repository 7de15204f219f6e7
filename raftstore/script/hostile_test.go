package script_test

import (
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/raftstore/script"
)

// countingCaller answers everything with a value and counts, so that two runs can be compared by how far they came.
type countingCaller struct {
	calls int
	reply resp.Value
}

func (c *countingCaller) Call([]string) (resp.Value, bool) {
	c.calls++
	return c.reply, false
}

// hostile are scripts that never end, or that want more memory than there is.
var hostile = []struct{ name, text string }{
	{"endless loop", `while true do end`},
	{"endless repeat", `repeat until false`},
	{"endless loop in pcall", `while true do pcall(function() while true do end end) end`},
	{"endless errors", `while true do pcall(error, "x") end`},
	{"endless errors in xpcall", `while true do xpcall(error, function() while true do end end) end`},
	{"handler that fails", `while true do xpcall(error, error) end`},
	{"endless calls", `while true do redis.call("x", redis.call("y")) end`},
	{"endless tail call", `local function f(n) return f(n + 1) end return f(1)`},
	{"endless recursion in pcall", `local function f() return pcall(f) end while true do f() end`},
	{"deep errors", `local function f(n) if n == 0 then error("x") end return 1 + f(n - 1) end while true do pcall(f, 150) end`},
	{"stack overflows", `local function f() return 1 + f() end while true do pcall(f) end`},
	{"doubling string", `local s = "x" while true do s = s .. s end`},
	{"growing string", `local s = "" while true do s = s .. "xxxxxxxxxxxxxxxx" end`},
	{"string.rep of 2 GiB", `return #string.rep("x", 2147483647)`},
	{"string.rep in pcall", `while true do pcall(string.rep, "x", 2147483647) end`},
	{"long chain of concatenations", `local s = string.rep("x", 1e6) local t = s..s..s..s..s..s..s..s while true do t = t..s..s..s..s..s..s..s end`},
	{"wide formats", `local t = {} for i = 1, 1e9 do t[i] = string.format("%99d%99d%99d", i, i, i) end`},
	{"growing format", `local s = "x" while true do s = string.format("%s%s", s, s) end`},
	{"quoting", `local s = string.rep('"', 1e6) while true do s = string.format("%q", s) end`},
	{"table.concat", `local t = {} for i = 1, 1000 do t[i] = string.rep("x", 10000) end while true do t[1] = table.concat(t) end`},
	{"backtracking pattern", `return string.find(string.rep("a", 50000), string.rep("a-", 30) .. "b")`},
	{"backtracking gsub", `return string.gsub(string.rep("a", 50000), string.rep("a*", 30) .. "b", "")`},
	{"backtracking gmatch", `for w in string.gmatch(string.rep("a", 50000), string.rep(".-", 20) .. "b") do end`},
	{"set in pattern", `return string.find(string.rep("a", 100000), "[" .. string.rep("b", 100000) .. "]")`},
	{"balance", `return string.find(string.rep("(", 100000), "%b()")`},
	{"gsub that grows", `return #string.gsub(string.rep("x", 1e5), "x", string.rep("y", 1e5))`},
	{"gsub with captures", `local s = "x" while true do s = string.gsub(s, "(.+)", "%1%1") end`},
	{"gsub by function", `local big = string.rep("y", 1e5) return #string.gsub(string.rep("x", 1e5), "x", function() return big end)`},
	{"nested gsub", `local function f(s) return (string.gsub(s, ".", f)) end while true do pcall(f, "x") end`},
	{"list of tables", `local t = {} local i = 0 while true do i = i + 1 t[i] = {i} end`},
	{"chain of tables", `local l while true do l = {n = l} end`},
	{"chain of empty tables", `local l while true do local t = {} t.n = l l = t end`},
	{"many fields", `local t, i = {}, 0 while true do i = i + 1 t["k" .. i] = i end`},
	{"huge index", `local t = {} for i = 1, 1e9 do t[i * 1000000] = i end`},
	{"huge index in constructor", `while true do local t = {[50000000] = 1} end`},
	{"many tables with holes", `local t = {} for i = 1, 1e9 do local u = {} u[100000] = 1 t[i] = u end`},
	{"closures", `local t = {} while true do t[#t + 1] = function() return t end end`},
	{"closures with captures", `local p while true do local a,b,c,d,e,f,g,h = 1,2,3,4,5,6,7,8
		local q = p p = function() return a,b,c,d,e,f,g,h,q end end`},
	{"captures under a deep stack", `local function deep(n)
		local a,b,c,d,e,f,g,h,i,j = 1,2,3,4,5,6,7,8,9,10
		local keep = function() return a,b,c,d,e,f,g,h,i,j end
		if n > 0 then return 1 + deep(n - 1) end
		while true do local k,l = 1,2 local z = function() return k,l end end end return deep(900)`},
	{"varargs", `local function g() end local function f(...) while true do g(...) end end f(unpack({}, 1, 7000))`},
	{"varargs kept", `local function f(...) local t = {} for i = 1, 1e9 do t[i] = {...} end end f(unpack({}, 1, 7000))`},
	{"arg tables kept", `local t = {} local function f(...) t[#t + 1] = arg end while true do f() end`},
	{"arg tables of many", `local t, u = {}, {} for i = 1, 7000 do u[i] = i end local function f(...) t[#t + 1] = arg end while true do f(unpack(u)) end`},
	{"results behind results", `local function f(n) if n == 0 then return unpack({}, 1, 7000) end return 1, f(n - 1) end while true do f(100) end`},
	{"equal long strings", `local a, b = string.rep("x", 5e6), string.rep("x", 5e6) while true do if a == b then end end`},
	{"order of long strings", `local a, b = string.rep("x", 5e6), string.rep("x", 5e6) while true do if a < b then end end`},
	{"long keys", `local t, k = {}, string.rep("x", 5e6) while true do local v = t[k] end`},
	{"chain of metatables", `local t = {} for i = 1, 95 do t = setmetatable({}, {__index = t}) end while true do local v = t.x end`},
	{"metamethod for ever", `local t = setmetatable({}, {__index = function(t, k) while true do end end}) return t.x`},
	{"length over nils", `local t = {} for i = 1, 200000 do t[i] = i end for i = 199999, 1, -1 do t[i] = nil end
		t[200000] = nil while true do local n = #t end`},
	{"next over deleted keys", `local t = {} for i = 1, 100000 do t["k"..i] = 1 end for i = 1, 100000 do t["k"..i] = nil end while true do next(t) end`},
	{"next over holes", `local t = {} t[900000] = 1 while true do next(t) end`},
	{"insert at the front", `local t = {} while true do table.insert(t, 1, 1) end`},
	{"endless sort", `table.sort({3, 2, 1}, function() while true do end end)`},
	{"endless gsub function", `string.gsub("x", ".", function() while true do end end)`},
	{"loadstring", `while true do loadstring("return 1")() end`},
	{"huge loadstring", `while true do loadstring("return '" .. string.rep("x", 200000) .. "'") end`},
	{"loaded loop", `loadstring("while true do end")()`},
	{"sha1 of much", `local s = string.rep("x", 1e7) while true do redis.sha1hex(s) end`},
	{"deep reply", `local t = {} for i = 1, 1e6 do t = {t} end return t`},
	{"reply that explodes", `local t = {1} for i = 1, 50 do t = {t, t} end return t`},
	{"select", `local t = {} for i = 1, 7000 do t[i] = i end while true do select("#", unpack(t)) end`},
	{"math.max", `local t = {} for i = 1, 7000 do t[i] = i end while true do math.max(unpack(t)) end`},
	{"tostring", `local t = {} for i = 1, 1e9 do t[i] = tostring({}) end`},
	{"string.byte", `local s = string.rep("x", 7000) while true do string.byte(s, 1, -1) end`},
	{"JSON of a cycle", `cjson.encode_max_depth(2^31-1) local t = {} t[1] = t while true do pcall(cjson.encode, t) end`},
	{"JSON of a cycle through fields", `cjson.encode_max_depth(2^31-1) local t = {} t.t = t while true do pcall(cjson.encode, t) end`},
	{"JSON that explodes", `local t = {1} for i = 1, 50 do t = {t, t} end return cjson.encode(t)`},
	{"JSON of empty tables that explodes", `local t = {} for i = 1, 50 do t = {t, t, t, t} end return cjson.encode(t)`},
	{"JSON of a sparse array", `cjson.encode_sparse_array(true, 0) while true do cjson.encode({[1000000] = 1}) end`},
	{"JSON of many fields", `local t = {} for i = 1, 10000 do t["k" .. i] = i end while true do cjson.encode(t) end`},
	{"JSON escapes", `local s = string.rep("\0", 1e6) while true do cjson.encode(s) end`},
	{"growing JSON", `local s = "x" while true do s = cjson.encode(s .. s) end`},
	{"JSON of a long string, kept", `local s, t = string.rep("x", 1e5), {} while true do t[#t + 1] = cjson.encode(s) end`},
	{"deep JSON", `cjson.decode_max_depth(2^31-1) local s = string.rep("[", 1e6) while true do pcall(cjson.decode, s) end`},
	{"deep JSON objects", `cjson.decode_max_depth(2^31-1) local s = string.rep('{"":', 1e6) while true do pcall(cjson.decode, s) end`},
	{"deep JSON kept", `cjson.decode_max_depth(2^31-1) local s, t = string.rep("[", 7000) .. string.rep("]", 7000), {}
		while true do t[#t + 1] = cjson.decode(s) end`},
	{"JSON of blanks", `local s = string.rep(" ", 5e6) while true do pcall(cjson.decode, s) end`},
	{"JSON of empty arrays", `local s = "[" .. string.rep("[],", 1e6) .. "[]]" while true do cjson.decode(s) end`},
	{"JSON of empty objects", `local s = "[" .. string.rep("{},", 1e6) .. "{}]" while true do cjson.decode(s) end`},
	{"JSON of numbers", `local s = "[" .. string.rep("1,", 1e6) .. "1]" while true do cjson.decode(s) end`},
	{"JSON of a long number", `local s = string.rep("1", 5e6) while true do cjson.decode(s) end`},
	{"JSON of a long hexadecimal number", `local s = "0x" .. string.rep("1", 5e6) while true do cjson.decode(s) end`},
	{"JSON of long numbers", `local s = "[" .. string.rep(string.rep("9", 800) .. "e-400,", 1000) .. "1]" while true do cjson.decode(s) end`},
	{"JSON keys", `local o = {} for i = 1, 1e5 do o[i] = '"k' .. i .. '":1' end
		local s = "{" .. table.concat(o, ",") .. "}" while true do cjson.decode(s) end`},
	{"long JSON keys", `local k = string.rep("k", 1e4) local s = "{" .. string.rep('"' .. k .. '":1,', 100) .. '"":1}' while true do cjson.decode(s) end`},
	{"JSON escapes decoded", `local s = '"' .. string.rep("\\u00e4", 1e6) .. '"' while true do cjson.decode(s) end`},
	{"JSON that ends early", `local s = '"' .. string.rep("\\n", 1e6) while true do pcall(cjson.decode, s) end`},
	{"nan with a long payload", `local s = "nan(" .. string.rep("a", 5e6) while true do pcall(cjson.decode, s) end`},
	{"instances of cjson", `local t = {} while true do t[#t + 1] = cjson.new() end`},
	{"instances of cjson, not kept", `while true do cjson.new() end`},
	{"packed cycle", `local t = {} for i = 1, 20 do t[i] = t end return cmsgpack.pack(t)`},
	{"packed cycle through fields", `local t = {} for i = 1, 20 do t["k" .. i] = t end return cmsgpack.pack(t)`},
	{"packing that explodes", `local t = {} for i = 1, 15 do t = {t, t, t, t, t, t} end return cmsgpack.pack(t)`},
	{"growing pack", `local s = "x" while true do s = cmsgpack.pack(s, s) end`},
	{"packing many", `local t = {} for i = 1, 4000 do t[i] = i end while true do cmsgpack.pack(unpack(t)) end`},
	{"packing a table with deleted keys", `local t = {} for i = 1, 100000 do t["k"..i] = 1 end
		for i = 1, 100000 do t["k"..i] = nil end while true do cmsgpack.pack(t) end`},
	{"unpacking promises", `local s = "\221\255\255\255\255" while true do pcall(cmsgpack.unpack, s) end`},
	{"unpacking promises in promises", `local s = string.rep("\221\255\255\255\255", 1e5) while true do pcall(cmsgpack.unpack, s) end`},
	{"unpacking maps in maps", `local s = string.rep("\223\255\255\255\255", 1e5) while true do pcall(cmsgpack.unpack, s) end`},
	{"unpacking a large array", `local s = "\221\0\15\66\64" .. string.rep("\192", 1e6) while true do cmsgpack.unpack(s) end`},
	{"unpacking empty tables", `local s = "\221\0\15\66\64" .. string.rep("\144", 1e6) while true do cmsgpack.unpack(s) end`},
	{"unpacking large indices", `local s = "" for i = 1, 100 do s = s .. "\129\206\3" .. string.char(i) .. "\0\0\1" end while true do cmsgpack.unpack(s) end`},
	{"unpacking many", `local s = string.rep("\1", 7900) while true do cmsgpack.unpack(s) end`},
	{"unpacking one by one", `local s, at = string.rep("\1", 1e6), 0 while true do at = cmsgpack.unpack_one(s, at) if at < 0 then at = 0 end end`},
	{"unpacking a long string", `local s = cmsgpack.pack(string.rep("x", 5e6)) while true do cmsgpack.unpack(s) end`},
	{"access checks", `while true do redis.acl_check_cmd("get", "x") end`},
	{"pairs for ever", `local t = {} for i = 1, 1000 do t[i] = i end while true do for k in pairs(t) do end end`},
}

// ends says how much processor time a hostile script may take, the garbage collector included.
const ends = 2 * time.Second

// cpuTime is what this process has used so far: a machine busy with other things must not fail a test.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestHostileScriptsEnd(t *testing.T) {
	for _, tc := range hostile {
		t.Run(tc.name, func(t *testing.T) {
			fresh, used := slowedEngine(), usedEngine(t)
			v1, c1 := runHostile(t, fresh, tc.text)
			v2, c2 := runHostile(t, used, tc.text)
			if show(v1) != show(v2) || c1 != c2 {
				t.Errorf("two runs differ: %s after %d calls, %s after %d", show(v1), c1, show(v2), c2)
			}
			if v, out := used.Run(invocation("return 1", nil)); out != script.Done || show(v) != ":1" {
				t.Errorf("after it: %v %s", out, show(v))
			}
		})
	}
}

// slowedEngine has as many steps as take the usual time under the race detector.
func slowedEngine() *script.Engine {
	l := script.DefaultLimits()
	l.Steps /= slowdown
	return script.New(l, "7.0.15")
}

// usedEngine has run other scripts, which must not show.
func usedEngine(t *testing.T) *script.Engine {
	e := slowedEngine()
	for _, text := range []string{`return pcall(function() return pcall(error, "x") end)`, `local t = {} for i = 1, 1000 do t[i] = {} end`} {
		if v, out := e.Run(invocation(text, nil)); out != script.Done {
			t.Fatal(out, v)
		}
	}
	return e
}

func invocation(text string, c script.Caller) script.Invocation {
	return script.Invocation{SHA: script.SHA1Hex(text), Text: text, Keys: []string{"key"}, Args: []string{"arg"}, Caller: c}
}

// retained is what the heap holds when all garbage is gone.
func retained(t *testing.T) uint64 {
	t.Helper()
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func runHostile(t *testing.T, e *script.Engine, text string) (resp.Value, int) {
	t.Helper()
	c := &countingCaller{reply: resp.Str("v")}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := cpuTime(t)
	v, out := e.Run(invocation(text, c))
	took := cpuTime(t) - begin
	runtime.ReadMemStats(&after)
	t.Logf("%v, %d MiB allocated in all", took, (after.TotalAlloc-before.TotalAlloc)>>20)
	if out != script.OverBudget {
		t.Errorf("outcome %v: %s", out, show(v))
	}
	if out == script.OverBudget && !strings.Contains(v.Str, "exceeded its") {
		t.Error(show(v))
	}
	if took > ends {
		t.Errorf("took %v", took)
	}
	if got := retained(t); got > 64<<20 {
		t.Errorf("%d MiB are still in use", got>>20)
	}
	if got := after.HeapSys - before.HeapSys; after.HeapSys > before.HeapSys && got > 512<<20 {
		t.Errorf("the heap grew by %d MiB", got>>20)
	}
	return v, c.calls
}
