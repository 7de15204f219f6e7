package script_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/raftstore/script"
)

// cjsonSame must answer as on a real server. No object has more than one field: the order of fields is the engine's.
var cjsonSame = []string{
	`return cjson.encode({1,2,3})`, `return cjson.encode({})`, `return cjson.encode({a=1})`, `return cjson.encode({{},{{}}})`,
	`return cjson.encode("a/b\"\\\b\t\n\f\r\0\1\31\127\128\255ü")`, `return cjson.encode("")`, `return cjson.encode(true)`,
	`return cjson.encode(false)`, `return cjson.encode(nil)`, `return cjson.encode(cjson.null)`, `return cjson.encode()`,
	`return cjson.encode(1,2)`, `return cjson.encode({1,nil,3})`, `return cjson.encode({cjson.null,1})`, `return cjson.encode({["a/b"]={x="y"}})`,
	`return cjson.encode({0.1,1/3,1e14,1e15,123456789012345,-tonumber("0"),1e-5,1e300,2^53,1e21,-5,5e-324,100,1796024563039})`,
	`return cjson.encode({[1.5]=1})`, `return cjson.encode({[0]=1})`, `return cjson.encode({[-1]=1})`, `local t={} t[-tonumber("0")]=1 return cjson.encode(t)`,
	`return cjson.encode({[1e15]=1})`, `return cjson.encode({[2]=1})`, `return cjson.encode({[3]=1})`, `return cjson.encode({[10]=1})`,
	`return cjson.encode({[11]=1})`, `return cjson.encode({1,2,3,4,5,[11]=1})`, `return cjson.encode({1,2,3,4,5,[13]=1})`,
	`return cjson.encode({[true]=1})`, `return cjson.encode({[{}]=1})`, `return cjson.encode({[1/0]=1})`, `return cjson.encode({[cjson.null]=1})`,
	`return cjson.encode(print)`, `return cjson.encode(tostring)`, `return cjson.encode({function() end})`, `return cjson.encode({a=redis.call})`,
	`return cjson.encode(1/0)`, `return cjson.encode(-1/0)`, `return cjson.encode(0/0)`, `return cjson.encode({x=0/0})`,
	`local t={} t.t=t return cjson.encode(t)`, `local t={} t[1]=t return cjson.encode(t)`, `return cjson.encode(setmetatable({},{__index=function() return 1 end}))`,
	`return cjson.encode(setmetatable({1,2},{__len=function() return 5 end}))`, `return cjson.encode(KEYS)..cjson.encode(ARGV[1])`,
	`local t={} for i=1,999 do t={t} end return cjson.encode(t)`, `local t={} for i=1,1000 do t={t} end return cjson.encode(t)`,
	`local t={} for i=1,1000 do t={x=t} end return cjson.encode(t)`, `return {pcall(cjson.encode, print)}`, `return {pcall(cjson.decode, "[")}`,
	`return cjson.encode(redis.call("set","x","1"))`, `return cjson.encode({redis.call("get","none")})`, `return cjson.encode(redis.pcall("echo").err)`,

	`return cjson.decode("[1,2,3]")`, `return cjson.decode("{}")`, `return cjson.decode('{"a":{"b":[1,{"c":"d"}]}}').a.b[2].c`, `return cjson.decode(" [ 1 , 2 ] ")`,
	`return cjson.decode("\t\r\n[\n]")`, `return cjson.decode('"x"')`, `return cjson.decode("true")`, `return cjson.decode("false")`, `return cjson.decode("null")`,
	`return cjson.decode("5")`, `return cjson.decode(5)`, `return cjson.decode("-0")`, `return tostring(cjson.decode("-0"))`, `return tostring(cjson.decode("1.5e3"))`,
	`return cjson.decode()`, `return cjson.decode("1","2")`, `return cjson.decode(nil)`, `return cjson.decode({})`, `return cjson.decode("")`, `return cjson.decode(" ")`,
	`return tostring(cjson.decode("null") == cjson.null)`, `return tostring(cjson.decode("[null]")[1] == cjson.null)`, `return tostring(cjson.null == nil)`, `return tostring(cjson.null)`,
	`return type(cjson.null)`, `return type(cjson.decode('{"a":null}').a)`, `return {cjson.null, 1}`, `return cjson.null`, `return cjson.null and 1 or 2`,
	`local t={} t[cjson.null]=5 return t[cjson.decode("null")]`, `return tostring(rawequal(cjson.null, cjson.decode("null")))`, `return tostring(cjson.null ~= cjson.decode("null"))`,
	`return cjson.null.x`, `cjson.null.x=1`, `return cjson.null+1`, `return cjson.null.."x"`, `return #cjson.null`, `return cjson.null < cjson.null`, `return -cjson.null`,
	`setmetatable(cjson.null, {})`, `return tostring(getmetatable(cjson.null))`, `return redis.call("echo", cjson.null)`, `return redis.error_reply(cjson.null)`, `return table.concat({cjson.null})`,
	`return cjson.decode("nul")`, `return cjson.decode("nullx")`, `return cjson.decode("tru")`, `return cjson.decode("True")`, `return cjson.decode("truefalse")`, `return cjson.decode("x")`, `return cjson.decode("'a'")`,
	`return cjson.decode("[1,2")`, `return cjson.decode("[1,]")`, `return cjson.decode("[,1]")`, `return cjson.decode("[1 2]")`, `return cjson.decode("]")`, `return cjson.decode("[1]]")`, `return cjson.decode("[1}")`,
	`return cjson.decode("{")`, `return cjson.decode("{1:2}")`, `return cjson.decode('{"a"}')`, `return cjson.decode('{"a":}')`, `return cjson.decode('{"a":1,}')`, `return cjson.decode('{"a":1 "b":2}')`, `return cjson.decode('{"a" 1}')`, `return cjson.decode('{a:1}')`, `return cjson.decode('{"a":1]')`, `return cjson.decode(":")`, `return cjson.decode(",")`, `return cjson.decode("}")`,
	`return cjson.decode('{"a":1,"a":2}').a`, `return cjson.decode('{"":5}')[""]`, `return cjson.decode("/* x */ 1")`, `return cjson.decode("[1] x")`,
	`return cjson.decode('"\\"\\\\\\/\\b\\t\\n\\f\\r\\u0041\\u00e4\\u20ac\\ud83d\\ude00\\u0000"')`, `return cjson.decode('"\\x"')`, `return cjson.decode('"\\u12"')`, `return cjson.decode('"\\u12g4"')`, `return cjson.decode('"\\ud800"')`,
	`return cjson.decode('"\\ude00"')`, `return cjson.decode('"\\ud83d\\u0041"')`, `return cjson.decode('"\\ud83dx"')`, `return cjson.decode('"\\ud83d\\ud83d"')`, `return cjson.decode('"\\uffff\\uFFFE"')`, `return cjson.decode('"\\u')`, `return cjson.decode('"\\')`, `return cjson.decode('"a\\')`, `return cjson.decode('"abc')`, `return cjson.decode('"')`, `return cjson.decode('{"ab')`,
	`return cjson.decode("\"a\nb\1\255\"")`, `return cjson.decode('"\\U0041"')`, `return cjson.decode("\"ab\0cd\"")`, `return cjson.decode("12\0junk")`, `return cjson.decode("1\0")`, `return cjson.decode("\0001")`, `return cjson.decode("\0")`, `return cjson.decode("[1,\0 2]")`,
	`return cjson.decode("+5")`, `return cjson.decode("05")`, `return cjson.decode("0x10")`, `return cjson.decode("0x")`, `return cjson.decode("0x1p4")`, `return cjson.decode("-0x1F")`, `return tostring(cjson.decode("0x.8"))`, `return tostring(cjson.decode("0x1.8p1"))`, `return cjson.decode("0x1p")`, `return tostring(cjson.decode("inf"))`, `return tostring(cjson.decode("-inf"))`, `return tostring(cjson.decode("Infinity"))`, `return tostring(cjson.decode("-INFINITY"))`, `return cjson.decode("infin")`, `return cjson.decode("infx")`,
	`local n=cjson.decode("nan") return tostring(n==n)`, `local n=cjson.decode("[NaN,1]") return n[2]`, `local n=cjson.decode("[nan(12_a),1]") return n[2]`, `return cjson.decode("nan(")`, `return cjson.decode("nan(-)")`, `return cjson.decode("in")`, `return cjson.decode("I")`, `return cjson.decode("N")`, `return cjson.decode("+")`, `return cjson.decode("+x")`, `return cjson.decode("+inf") == 1/0`, `return cjson.decode("-")`, `return cjson.decode("- 5")`, `return tostring(cjson.decode("-.5"))`, `return cjson.decode(".5")`, `return cjson.decode("5.")`, `return cjson.decode("1.2.3")`, `return cjson.decode("1e")`, `return cjson.decode("1e+")`, `return cjson.decode("1E+2")`, `return tostring(cjson.decode("1e400"))`, `return tostring(cjson.decode("1e-400"))`, `return cjson.decode("1e5x")`, `return cjson.decode("1_000")`, `return cjson.decode("0b1")`, `return cjson.decode("00")`, `return tostring(cjson.decode("123456789012345678901234567890"))`, `return cjson.decode("--5")`, `return cjson.decode("-+5")`,
	`return tostring(cjson.decode("0." .. string.rep("0", 5000) .. "1"))`, `return tostring(cjson.decode(string.rep("9", 5000)))`, `return cjson.decode(string.rep("[",1000)..string.rep("]",1000)) and 1`, `return cjson.decode(string.rep("[",1001)..string.rep("]",1001))`, `return cjson.decode(string.rep('{"a":',1001).."1"..string.rep("}",1001))`, `return cjson.decode(string.rep("[",1001))`,

	`return cjson.encode(cjson.decode('[1,"a",null,true,{"x":[]},1.5]'))`, `return cjson.encode(cjson.decode('{"a":"\\u00fc\\/"}'))`,
	`local c=cjson.new() return {tostring(c.encode_sparse_array()), c.encode_max_depth(), c.decode_max_depth(), c.encode_number_precision()}`,
	`local c=cjson.new() return {tostring(c.encode_invalid_numbers()), tostring(c.decode_invalid_numbers()), tostring(c.encode_keep_buffer())}`,
	`return {select(2, cjson.encode_sparse_array())}`, `local c=cjson.new() c.encode_sparse_array(true) return c.encode({[11]=1})`, `local c=cjson.new() c.encode_sparse_array(true,1,0) return c.encode({[2]=1})`, `local c=cjson.new() c.encode_sparse_array(false,1,1) return c.encode({[2]=1})`,
	`local c=cjson.new() c.encode_sparse_array("on",0) return c.encode({[20]=1})`, `local c=cjson.new() c.encode_sparse_array("off",5,2) return c.encode({[5]=1})`, `local c=cjson.new() return c.encode_sparse_array("x")`, `local c=cjson.new() return c.encode_sparse_array(1)`, `local c=cjson.new() return c.encode_sparse_array({})`, `local c=cjson.new() return c.encode_sparse_array(true,-1)`, `local c=cjson.new() return c.encode_sparse_array(true,"x")`, `local c=cjson.new() return c.encode_sparse_array(true,1,2,3)`, `local c=cjson.new() return {select(2,c.encode_sparse_array(nil,nil,7))}`, `local c=cjson.new() return c.encode_sparse_array(nil,2^40)`,
	`local c=cjson.new() return c.encode_max_depth(0)`, `local c=cjson.new() return c.encode_max_depth(2,3)`, `local c=cjson.new() c.encode_max_depth(2) return c.encode({{1}})`, `local c=cjson.new() c.encode_max_depth(2) return c.encode({{{1}}})`, `local c=cjson.new() c.decode_max_depth(2) return c.decode("[[[1]]]")`, `local c=cjson.new() c.decode_max_depth("2") return c.decode('{"a":[{"b":1}]}')`, `local c=cjson.new() return c.decode_max_depth(1.9)`, `local c=cjson.new() return c.decode_max_depth(2^31)`,
	`local c=cjson.new() c.encode_max_depth(100000) c.decode_max_depth(100000) return #c.encode(c.decode(string.rep("[",7997)..string.rep("]",7997)))`, `local c=cjson.new() c.decode_max_depth(100000) return c.decode(string.rep("[",7999)..string.rep("]",7999))`, `local c=cjson.new() c.encode_max_depth(100000) local t={} for i=1,8500 do t={t} end return c.encode(t)`, `local c=cjson.new() c.encode_max_depth(100000) local t={} for i=1,8500 do t={x=t} end return c.encode(t)`, `local c=cjson.new() c.decode_max_depth(100000) return c.decode(string.rep('{"x":',8500))`,
	`local c=cjson.new() c.encode_number_precision(3) return c.encode({12345,0.1234,5,1000,100,1e10,-0.00001234,1/3})`, `local c=cjson.new() c.encode_number_precision(1) return c.encode({15,0.15,5,95})`, `local c=cjson.new() return c.encode_number_precision(0)`, `local c=cjson.new() return c.encode_number_precision(15)`, `local c=cjson.new() c.encode_number_precision(13) return c.encode({0.1,12345678901234,1e13,999999999999.5})`, `local c=cjson.new() c.encode_number_precision(3) return c.encode({[12345]=1})`,
	`local c=cjson.new() c.encode_invalid_numbers(true) return c.encode({1/0,-1/0,0/0})`, `local c=cjson.new() c.encode_invalid_numbers("null") return c.encode({1/0,-1/0,0/0})`, `local c=cjson.new() return c.encode_invalid_numbers("null")`, `local c=cjson.new() return tostring(c.encode_invalid_numbers("on"))`, `local c=cjson.new() return c.encode_invalid_numbers("x")`, `local c=cjson.new() c.encode_invalid_numbers("null") return c.encode({[1/0]=1})`, `local c=cjson.new() return c.encode_invalid_numbers(true,1)`,
	`local c=cjson.new() c.decode_invalid_numbers(false) return c.decode("0x10")`, `local c=cjson.new() c.decode_invalid_numbers(false) return c.decode("05")`, `local c=cjson.new() c.decode_invalid_numbers(false) return c.decode("-05")`, `local c=cjson.new() c.decode_invalid_numbers(false) return c.decode("+5")`, `local c=cjson.new() c.decode_invalid_numbers(false) return c.decode("nan")`, `local c=cjson.new() c.decode_invalid_numbers(false) return c.decode("-inf")`, `local c=cjson.new() c.decode_invalid_numbers(false) return c.decode("[0,-0,5]")`, `local c=cjson.new() c.decode_invalid_numbers(false) return c.decode("-")`, `local c=cjson.new() c.decode_invalid_numbers("null") return 1`,
	`local c=cjson.new() return tostring(c.encode_keep_buffer(false))`, `local c=cjson.new() c.encode_keep_buffer(false) return c.encode({1}) .. c.encode({2})`, `local c=cjson.new() c.x=1 return c.x`, `local c=cjson.new() return tostring(c.null == cjson.null)`, `return type(cjson.new().new)`, `return cjson._NAME .. cjson._VERSION`, `cjson.encode = 1`, `cjson.x = 1`, `return cjson.nosuch()`, `return tostring(cjson.encode == cjson.new().encode)`,
	`cjson.encode_max_depth(3) return cjson.encode({{{{1}}}})`, `cjson.encode_sparse_array(true) return cjson.encode({[100]=1})`, `return cjson.encode_max_depth()`,
	`local o={} for k,v in pairs(cjson) do o[#o+1]=k..type(v) end table.sort(o) return o`,
}

// TestJSONSettingsEndWithTheRun keeps one script from changing what another one writes. Real Redis keeps the settings
// until SCRIPT FLUSH.
func TestJSONSettingsEndWithTheRun(t *testing.T) {
	e := testEngine()
	change := `cjson.encode_max_depth(1) cjson.encode_sparse_array(true) cjson.encode_number_precision(2)
		cjson.encode_invalid_numbers("null") cjson.decode_invalid_numbers(false) cjson.decode_max_depth(1) return 1`
	read := `return cjson.encode({{12345, cjson.decode("[[0x10]]")}}) .. tostring(cjson.encode_sparse_array())`
	for range 2 {
		e.Run(invocation(change, nil))
		if v, _ := e.Run(invocation(read, nil)); show(v) != `"[[12345,[[16]]]]false"` {
			t.Error(show(v))
		}
	}
}

// TestJSONOrder pins the order of an object's fields, which every member must share: items first, then the keys in the
// order in which they were set.
func TestJSONOrder(t *testing.T) {
	for text, want := range map[string]string{
		`return cjson.encode({z=1, a=2, m=3, [1]="i"})`:                         `{"1":"i","z":1,"a":2,"m":3}`,
		`return cjson.encode(cjson.decode('{"b":1,"a":{"d":1,"c":2},"0":[]}'))`: `{"b":1,"a":{"d":1,"c":2},"0":{}}`,
		`local t = {a=1, b=2} t.a = nil t.c = 3 t.a = 4 return cjson.encode(t)`: `{"a":4,"b":2,"c":3}`,
	} {
		v, _ := testEngine().Run(invocation(text, nil))
		if v.Str != want {
			t.Errorf("%s: got %s, want %s", text, v.Str, want)
		}
	}
}

// FuzzJSON: what could be read can be written, and what was written reads and writes to itself. Nothing panics, and a
// small budget ends it.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{
		`[1,2,{"a":null,"b":[true,false]}]`, `"\u00e4\ud83d\ude00\/"`, `{"x":0x1p4,"y":-1.5e-7,"z":nan(5)}`, "[[[[]]]]", `{"a":1,"a":{}}`,
		"12\x00junk", `"\`, `[1,,]`, strings.Repeat("[", 1100), strings.Repeat(`{"a":`, 500), "\xff\xfe[1]", `{"1":1,"2":2}`, "[inf,-inf,+5]",
		`["` + strings.Repeat(`\n`, 3000) + `"]`,
	} {
		f.Add(s)
	}
	const again = `local ok, v = pcall(cjson.decode, ARGV[1]) if not ok then return {v} end
		cjson.encode_invalid_numbers(true)
		local one = cjson.encode(v) return {one, cjson.encode(cjson.decode(one))}`
	used := script.New(smallLimits(), "7.0.15")
	f.Fuzz(func(t *testing.T, s string) { sameTwice(t, used, again, s) })
}

// sameTwice runs a script that returns a text and what became of it when it was read and written once more, or one error.
func sameTwice(t *testing.T, used *script.Engine, text, arg string) {
	t.Helper()
	inv := invocation(text, nil)
	inv.Args = []string{arg}
	v, out := used.Run(inv)
	if fresh, out2 := script.New(smallLimits(), "7.0.15").Run(inv); out != out2 || show(v) != show(fresh) {
		t.Fatalf("a new engine: %v %s, a used one: %v %s", out2, show(fresh), out, show(v))
	}
	switch out {
	case script.OverBudget:
		if !strings.Contains(v.Str, "exceeded its") {
			t.Error(v.Str)
		}
	case script.Done:
		if len(v.Elems) == 2 && show(v.Elems[0]) != show(v.Elems[1]) {
			t.Errorf("%s became %s", show(v.Elems[0]), show(v.Elems[1]))
		}
	default:
		t.Errorf("%v %s", out, show(v))
	}
}

// TestJSONOfManyTexts compares texts that are made by mutation with the real library.
func TestJSONOfManyTexts(t *testing.T) {
	live, e := dialRedis(t, 2), testEngine()
	const text = `local ok, v = pcall(cjson.decode, ARGV[1]) if not ok then return v end return cjson.encode({v})`
	seeds := []string{`[1,-2.5e3,"a\u00e4\n",null,true,[{"k":[]}]]`, `{"k":"\ud83d\ude00"}`, `[0x1F,inf,-0,1e5,"\/"]`}
	for _, seed := range seeds {
		for i := range len(seed) {
			for _, with := range []string{"", "0", "\"", "\\", "]", "}", ",", " ", "x", "-", ".", "e", "\x00", "u", "\xff"} {
				s := seed[:i] + with + seed[i+1:]
				compareJSON(t, live, e, text, s)
			}
			compareJSON(t, live, e, text, seed[:i])
		}
	}
}

func compareJSON(t *testing.T, live *redisConn, e *script.Engine, text, s string) {
	t.Helper()
	want := live.do(t, "EVAL", text, "1", "key", s)
	inv := invocation(text, nil)
	inv.Args = []string{s}
	got, _ := e.Run(inv)
	if got = reshape(got, resp.RESP2); show(got) != show(want) {
		t.Errorf("%s\n got %s\nwant %s", strconv.Quote(s), show(got), show(want))
	}
}
