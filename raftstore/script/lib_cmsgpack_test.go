package script_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/raftstore/script"
)

// cmsgpackSame must answer as on a real server. No map has more than one field: the order of fields is the engine's.
var cmsgpackSame = []string{
	`return cmsgpack.pack(0,1,127,128,255,256,65535,65536,4294967295,4294967296,2^53,2^62)`, `return cmsgpack.pack(-1,-32,-33,-128,-129,-32768,-32769,-2147483648,-2147483649,-2^53,-2^63)`,
	`return cmsgpack.pack(1.5,0.1,-tonumber("0"),2^63,2^64,1e300,1/0,-1/0,0/0,16777217.5,1e-50)`, `return cmsgpack.pack(true,false,nil,cjson.null,print)`, `return cmsgpack.pack()`,
	`return cmsgpack.pack("",string.rep("a",31))`, `return cmsgpack.pack(string.rep("a",32))`, `return cmsgpack.pack(string.rep("a",255))`, `return cmsgpack.pack(string.rep("a",256))`, `return cmsgpack.pack(string.rep("a",65535)):sub(1,5)`, `return cmsgpack.pack(string.rep("a",65536)):sub(1,6)`, `return cmsgpack.pack("\0\255")`,
	`return cmsgpack.pack({})`, `return cmsgpack.pack({1,2,3})`, `return cmsgpack.pack({a=1})`, `return cmsgpack.pack({[2]=1})`, `return cmsgpack.pack({[0]=1})`, `return cmsgpack.pack({[1.5]=1})`, `return cmsgpack.pack({[-1]="x"})`, `return cmsgpack.pack({[true]=false})`, `return cmsgpack.pack({[1/0]=1})`, `return cmsgpack.pack({[2^40]=1})`, `return cmsgpack.pack({{},{{}},{a={}}})`,
	`local t={} for i=1,15 do t[i]=i end return cmsgpack.pack(t)`, `local t={} for i=1,16 do t[i]=i end return cmsgpack.pack(t)`, `local t={} for i=1,65536 do t[i]=1 end return cmsgpack.pack(t):sub(1,8)`, `local t={} for i=1,16 do t["k"..i]=1 end return cmsgpack.pack(t):sub(1,3)`, `local t={} for i=1,66000 do t["k"..i]=1 end return cmsgpack.pack(t):sub(1,5)`,
	`local t={} t[1]=t return cmsgpack.pack(t)`, `local t={} t.x=t return cmsgpack.pack(t)`, `local t={} for i=1,15 do t={t} end return cmsgpack.pack(t)`, `local t={} for i=1,16 do t={t} end return cmsgpack.pack(t)`, `local t={} for i=1,17 do t={a=t} end return cmsgpack.pack(t)`, `return cmsgpack.pack({[{}]=1})`, `return cmsgpack.pack({[{{}}]={1}})`,
	`return cmsgpack.pack(KEYS) .. cmsgpack.pack(ARGV)`, `return #cmsgpack.pack(unpack({},1,4000))`, `return #cmsgpack.pack(unpack({},1,4001))`, `return cmsgpack.pack(setmetatable({},{__index=function() return 1 end}))`,

	`return {cmsgpack.unpack("\0\127\224\255")}`, `return {cmsgpack.unpack("\204\255\205\255\255\206\255\255\255\255")}`, `return {cmsgpack.unpack("\208\128\209\128\0\210\128\0\0\0\211\255\255\255\255\255\255\255\254")}`, `return {cmsgpack.unpack("\207\255\255\255\255\255\255\255\255\207\0\0\0\1\0\0\0\0")}`, `return tostring(cmsgpack.unpack("\207\127\255\255\255\255\255\255\255"))`, `return tostring(cmsgpack.unpack("\211\128\0\0\0\0\0\0\0"))`,
	`return tostring(cmsgpack.unpack("\202\63\192\0\0"))`, `return tostring(cmsgpack.unpack("\203\63\185\153\153\153\153\153\154"))`, `return tostring(cmsgpack.unpack("\202\127\128\0\0"))`, `return tostring(cmsgpack.unpack("\202\61\204\204\205"))`, `return {tostring(cmsgpack.unpack("\194")),tostring(cmsgpack.unpack("\195")),tostring(cmsgpack.unpack("\192"))}`,
	`return {cmsgpack.unpack("\160\163abc\217\3def\218\0\2gh\219\0\0\0\1i")}`, `return {cmsgpack.unpack("\147\1\2\3")}`, `return {cmsgpack.unpack("\220\0\2\5\6\221\0\0\0\1\7")}`, `return cmsgpack.unpack("\129\161a\5").a`, `return cmsgpack.unpack("\222\0\1\1\5")`, `return cmsgpack.unpack("\223\0\0\0\1\161x\161y").x`, `return cmsgpack.unpack("\128")`, `return cmsgpack.unpack("\144")`,
	`return {cmsgpack.unpack("\146\192\1")}`, `local t=cmsgpack.unpack("\147\1\192\3") return {t[1],t[3]}`, `return cmsgpack.unpack("\129\192\1")`, `return cmsgpack.unpack("\129\192\192")`, `return cmsgpack.unpack("\129\203\127\248\0\0\0\0\0\0\1")`, `return cmsgpack.unpack("\129\144\1") and 1`, `return next(cmsgpack.unpack("\129\1\192"))`, `return cmsgpack.unpack("\130\1\5\1\6")`, `return {pcall(cmsgpack.unpack,"\129\192\1")}`,
	`return cmsgpack.unpack("\193")`, `return cmsgpack.unpack("\196\1a")`, `return cmsgpack.unpack("\197")`, `return cmsgpack.unpack("\198")`, `return cmsgpack.unpack("\199\1\1a")`, `return cmsgpack.unpack("\201")`, `return cmsgpack.unpack("\212\1a")`, `return cmsgpack.unpack("\216")`, `return cmsgpack.unpack("\1\193")`, `return cmsgpack.unpack("\145\193")`,
	`return cmsgpack.unpack("\204")`, `return cmsgpack.unpack("\205\1")`, `return cmsgpack.unpack("\206\1\1\1")`, `return cmsgpack.unpack("\207\1\1\1\1\1\1\1")`, `return cmsgpack.unpack("\202\1\1\1")`, `return cmsgpack.unpack("\203\1")`, `return cmsgpack.unpack("\161")`, `return cmsgpack.unpack("\191abc")`, `return cmsgpack.unpack("\217")`, `return cmsgpack.unpack("\217\5abc")`, `return cmsgpack.unpack("\218\0")`, `return cmsgpack.unpack("\219\255\255\255\255abc")`, `return cmsgpack.unpack("\219\0\0\0")`, `return cmsgpack.unpack("\145")`, `return cmsgpack.unpack("\129\1")`, `return cmsgpack.unpack("\220\0")`, `return cmsgpack.unpack("\221\255\255\255\255\1\1\1")`, `return cmsgpack.unpack("\223\255\255\255\255\1\1\1")`, `return cmsgpack.unpack("\222\0\1")`,
	`return {cmsgpack.unpack("")}`, `return cmsgpack.unpack()`, `return cmsgpack.unpack(nil)`, `return cmsgpack.unpack({})`, `return cmsgpack.unpack(5)`, `return {cmsgpack.unpack("\1\2",9,9)}`, `return select("#",cmsgpack.unpack("\192\192\192"))`, `return select("#",cmsgpack.unpack(string.rep("\1",7900)))`, `return cmsgpack.unpack(string.rep("\1",8990))`, `return cmsgpack.unpack(string.rep("\145",100000))`, `return cmsgpack.unpack(string.rep("\129\1",100000))`, `return type(cmsgpack.unpack(string.rep("\145",3998).."\1"))`, `return type(cmsgpack.unpack(string.rep("\145",3999).."\1"))`, `return type(cmsgpack.unpack(string.rep("\129\1",3998).."\1"))`, `return type(cmsgpack.unpack(string.rep("\129\1",3999).."\1"))`, `return type(cmsgpack.unpack(string.rep("\129\1",4000).."\1"))`, `return type(cmsgpack.unpack(string.rep("\145",4000).."\1"))`, `return cmsgpack.unpack(string.rep("\129",10000))`, `return cmsgpack.unpack(string.rep("\145",10000))`,
	`return {cmsgpack.unpack_one("\1\2\3")}`, `return {cmsgpack.unpack_one("\1\2\3",1)}`, `return {cmsgpack.unpack_one("\1\2\3",2)}`, `return {cmsgpack.unpack_one("\1\2\3",3)}`, `return {cmsgpack.unpack_one("\1\2\3",4)}`, `return {cmsgpack.unpack_one("\1\2\3",-1)}`, `return {cmsgpack.unpack_one("")}`, `return {cmsgpack.unpack_one("\192")}`, `return select("#",cmsgpack.unpack_one("\192"))`, `return cmsgpack.unpack_one()`, `return cmsgpack.unpack_one("\1","x")`, `return {cmsgpack.unpack_one("\1","0")}`, `return {cmsgpack.unpack_one("\146\1\2\5", 0)}`, `return {cmsgpack.unpack_one("\1\2",1.9)}`, `return cmsgpack.unpack_one("\193")`,
	`return {cmsgpack.unpack_limit("\1\2\3",2)}`, `return {cmsgpack.unpack_limit("\1\2\3",0)}`, `return {cmsgpack.unpack_limit("\1\2\3",0,1)}`, `return {cmsgpack.unpack_limit("\1\2\3",5,1)}`, `return {cmsgpack.unpack_limit("\1\2\3",3)}`, `return {cmsgpack.unpack_limit("\1\2\3",-1)}`, `return {cmsgpack.unpack_limit("\1\2\3",1,9)}`, `return cmsgpack.unpack_limit("\1")`, `return cmsgpack.unpack_limit("\1",{})`, `return {cmsgpack.unpack_limit("\1\2",1,nil)}`, `return {cmsgpack.unpack_limit("\1\2",2^40)}`, `return cmsgpack.unpack_limit(nil,1)`,
	`local s = cmsgpack.pack({1,2.5,"x",true,{a={b="c"}}}) local t = cmsgpack.unpack(s) return {t[1],tostring(t[2]),t[3],t[4],t[5].a.b}`, `return {cmsgpack.unpack(cmsgpack.pack(1,"a",{2}))}`, `local o, off, v = {}, 0 repeat off, v = cmsgpack.unpack_one("\1\161a\2", off) o[#o+1]=v until off == -1 return o`,
	`cmsgpack.pack = 1`, `return cmsgpack.nosuch`, `return cmsgpack.nosuch()`, `local o={} for k,v in pairs(cmsgpack) do o[#o+1]=k..type(v) end table.sort(o) return o`, `return {cmsgpack._NAME,cmsgpack._VERSION,cmsgpack._COPYRIGHT,cmsgpack._DESCRIPTION}`,
}

// TestMsgpackOfManyTexts compares every first byte, with nothing, little and much behind it, with the real library.
func TestMsgpackOfManyTexts(t *testing.T) {
	live, e := dialRedis(t, 2), testEngine()
	const text = `local function show(v)
			if type(v) ~= "table" then return type(v) .. ":" .. tostring(v) end
			local out = {} for k, x in pairs(v) do out[#out+1] = show(k) .. "=" .. show(x) end
			table.sort(out) return "{" .. table.concat(out, ",") .. "}"
		end return show({pcall(cmsgpack.unpack, ARGV[1])})`
	for first := range 256 {
		for _, rest := range []string{"", "\x00", "\x01", "\x00\x01a", "\x00\x00\x00\x02\x01\x02\x03\x04", "\x00\x02" + strings.Repeat("\x05", 40)} {
			compareJSON(t, live, e, text, string([]byte{byte(first)})+rest)
		}
	}
}

// FuzzMsgpack: what could be unpacked packs to a text that unpacks and packs to itself, once what is nested too deep was
// cut off. Nothing panics, and a small budget ends it.
func FuzzMsgpack(f *testing.F) {
	for _, s := range []string{
		"\x01\xe0\xcc\xff\xd3\xff\xff\xff\xff\xff\xff\xff\xfe", "\xca\x3f\xc0\x00\x00\xcb\x3f\xb9\x99\x99\x99\x99\x99\x9a", "\xa3abc\xd9\x01x\xc0\xc2\xc3",
		"\x93\x01\x92\x02\x03\x81\xa1a\x90", "\xdd\xff\xff\xff\xff", "\xdf\xff\xff\xff\xff\x01\x01", strings.Repeat("\x91", 5000), strings.Repeat("\x81\x01", 3000), "\xc1", "\x81\xc0\x01",
		strings.Repeat("\x01", 9000), "\x81\x91\x01\x82\x01\x02\x03\x04", "\xdb\x7f\xff\xff\xff",
	} {
		f.Add(s)
	}
	const again = `local t = {pcall(cmsgpack.unpack, ARGV[1])} if not t[1] then return {t[2]} end
		local ok, one = pcall(cmsgpack.unpack, cmsgpack.pack(t)) if not ok then return {one} end
		local two = cmsgpack.pack(one) return {two, cmsgpack.pack(cmsgpack.unpack(two))}`
	used := script.New(smallLimits(), "7.0.15")
	f.Fuzz(func(t *testing.T, s string) { sameTwice(t, used, again, s) })
}

// extendLocks has the steps of BullMQ's batch renewal: tokens and identities come packed, the script builds the keys.
const extendLocks = `
	local tokens, ids = cmsgpack.unpack(ARGV[2]), cmsgpack.unpack(ARGV[3])
	local failed = {}
	for i, id in ipairs(ids) do
		local key = ARGV[1] .. id .. ':lock'
		if redis.call('GET', key) == tokens[i] and redis.call('SET', key, tokens[i], 'PX', ARGV[4]) then
			redis.call('SREM', KEYS[1], id)
		else
			table.insert(failed, id)
		end
	end
	return failed`

// TestExtendLocks runs a batch renewal on a real server and here.
func TestExtendLocks(t *testing.T) {
	list := func(items ...string) string {
		out := string([]byte{0x90 | byte(len(items))})
		for _, s := range items {
			out += string([]byte{0xa0 | byte(len(s))}) + s
		}
		return out
	}
	args := []string{"bull:jobs:", list("token-a", "token-b", "token-c"), list("1", "2", "3"), "30000"}
	var replies [2]string
	for side := range replies {
		live := dialRedis(t, 2)
		live.do(t, "FLUSHALL")
		live.do(t, "SET", "bull:jobs:1:lock", "token-a")
		live.do(t, "SET", "bull:jobs:2:lock", "stranger")
		live.do(t, "SADD", "stalled", "1", "2", "3")
		var v resp.Value
		if side == 0 {
			v = live.do(t, append([]string{"EVAL", extendLocks, "1", "stalled"}, args...)...)
		} else {
			v, _ = testEngine().Run(script.Invocation{
				SHA: script.SHA1Hex(extendLocks), Text: extendLocks, Keys: []string{"stalled"}, Args: args, Caller: liveCaller{t, live},
			})
		}
		replies[side] = show(reshape(v, resp.RESP2)) + show(live.do(t, "SORT", "stalled")) + strconv.FormatBool(live.do(t, "PTTL", "bull:jobs:1:lock").Int() > 0)
	}
	if replies[0] != replies[1] || replies[0] != `*["2" "3"]*["2" "3"]true` {
		t.Errorf("redis %s, here %s", replies[0], replies[1])
	}
}
