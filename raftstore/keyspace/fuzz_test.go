package keyspace

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

// program turns bytes into a list of command lines with stamps: the input of FuzzApplyTwice.
type program struct {
	data []byte
	now  int64
	wall int64
}

func (p *program) byte() int {
	if len(p.data) == 0 {
		return 0
	}
	b := p.data[0]
	p.data = p.data[1:]
	return int(b)
}

func (p *program) oneOf(choices []string) string { return choices[p.byte()%len(choices)] }

// stamp moves store time on by up to 63 ms, and the wall clock anywhere within two seconds.
func (p *program) stamp() Stamp {
	p.now += int64(p.byte() % 64)
	p.wall = 1_000_000 + int64(p.byte())*8_000
	return Stamp{Now: p.now, Wall: p.wall}
}

var (
	fuzzKeys   = []string{"a", "b", "c", "d"}
	fuzzFields = []string{"f", "g", "h", "owner", "x0123456789012345678901234567890123456789012345678901234567890123456789"}
	fuzzValues = []string{
		"", "1", "-7", "v", "owner", "3.5", "9223372036854775807", "1e400",
		"x0123456789012345678901234567890123456789012345678901234567890123456789",
	}
	fuzzTimes  = []string{"-1", "0", "1", "5", "30", "100", "1000", "2500", "9223372036854775807"}
	fuzzCount  = []string{"-3", "-1", "0", "1", "2", "5"}
	fuzzScores = []string{"0", "1", "2.5", "-1", "inf", "-inf", "(1", "1796024563039"}
	fuzzDigest = []string{"5", digestOf("v"), digestOf("1"), digestOf("")}
	fuzzLex    = []string{"-", "+", "[f", "(g", "[owner"}
)

// templates say what the words of a command line may be: K a key, F a field or member, V a value, T a time, N a count,
// D a database, S a score, L an end of a range of members, G a digest; words after ? may be missing. New ones come last, so that
// the seeds keep their meaning.
var templates = []string{
	"GET K", "SET K V", "SET K V ?NX ?PX T ?FENCE", "SET K V ?XX ?GET ?PXAT T", "SET K V ?KEEPTTL ?GET", "SET K V EX T ?NX",
	"SETNX K V", "SETEX K T V", "PSETEX K T V", "GETSET K V", "GETDEL K", "GETEX K ?PX T", "GETEX K PERSIST",
	"GETEX K PXAT T", "MGET K K", "MSET K V K V", "MSETNX K V K V", "APPEND K V", "STRLEN K", "GETRANGE K N N",
	"SETRANGE K N V", "INCR K", "DECR K", "INCRBY K V", "DECRBY K V", "INCRBYFLOAT K V", "DEL K ?K", "UNLINK K", "EXISTS K K",
	"TYPE K", "EXPIRE K T", "PEXPIRE K T ?NX", "PEXPIRE K T ?XX ?GT", "PEXPIRE K T LT", "PEXPIREAT K T ?GT", "EXPIREAT K T",
	"TTL K", "PTTL K", "EXPIRETIME K", "PEXPIRETIME K", "PERSIST K", "RENAME K K", "RENAMENX K K", "COPY K K ?REPLACE",
	"COPY K K DB D ?REPLACE", "MOVE K D", "RANDOMKEY", "KEYS *", "SCAN 0 COUNT N", "SCAN N TYPE hash", "DBSIZE", "FLUSHDB",
	"FLUSHALL", "SWAPDB D D", "OBJECT ENCODING K", "HSET K F V ?F V", "HMSET K F V", "HSETNX K F V", "HGET K F", "HMGET K F F",
	"HGETALL K", "HDEL K F ?F", "HLEN K", "HEXISTS K F", "HKEYS K", "HVALS K", "HSTRLEN K F", "HINCRBY K F V",
	"HINCRBYFLOAT K F V", "HRANDFIELD K ?N", "HRANDFIELD K N WITHVALUES", "HSCAN K N COUNT N", "FENCE K ?V",
	"GET __fence__:a", "SET __fence__:a V", "SCRIPT LOAD V", "SCRIPT EXISTS V", "SCRIPT FLUSH", "PUBLISH K V", "SPUBLISH K V",
	"LPUSH K F ?F ?V", "RPUSH K F ?F ?V", "LPUSHX K F", "RPUSHX K F", "LPOP K ?N", "RPOP K ?N", "LLEN K", "LRANGE K N N", "LINDEX K N",
	"LSET K N F", "LINSERT K BEFORE F V", "LINSERT K AFTER F V", "LREM K N F", "LTRIM K N N", "LPOS K F ?RANK N", "LPOS K F COUNT N",
	"LMOVE K K LEFT RIGHT", "LMOVE K K RIGHT RIGHT", "RPOPLPUSH K K", "LMPOP 2 K K LEFT ?COUNT N", "SADD K F ?V ?N", "SADD K N ?N",
	"SREM K F ?N", "SISMEMBER K F", "SMISMEMBER K F N", "SMEMBERS K", "SCARD K", "SPOP K ?N", "SRANDMEMBER K ?N", "SMOVE K K F",
	"SUNION K K", "SINTER K K", "SDIFF K K", "SUNIONSTORE K K K", "SINTERSTORE K K K", "SDIFFSTORE K K K", "SINTERCARD 2 K K LIMIT N",
	"SSCAN K 0", "ZADD K S F ?S ?V", "ZADD K NX S F", "ZADD K XX CH S F", "ZADD K GT CH S F", "ZADD K LT INCR S F", "ZREM K F ?F",
	"ZCARD K", "ZSCORE K F", "ZMSCORE K F V", "ZCOUNT K S S", "ZLEXCOUNT K L L", "ZINCRBY K S F", "ZRANGE K N N ?REV ?WITHSCORES",
	"ZRANGE K S S BYSCORE ?LIMIT N N", "ZRANGE K L L BYLEX ?LIMIT N N", "ZRANGESTORE K K N N", "ZRANGESTORE K K S S BYSCORE REV",
	"ZREVRANGE K N N", "ZRANGEBYSCORE K S S ?WITHSCORES", "ZREVRANGEBYSCORE K S S", "ZRANGEBYLEX K L L", "ZREVRANGEBYLEX K L L",
	"ZRANK K F ?WITHSCORE", "ZREVRANK K F", "ZREMRANGEBYRANK K N N", "ZREMRANGEBYSCORE K S S", "ZREMRANGEBYLEX K L L",
	"ZPOPMIN K ?N", "ZPOPMAX K ?N", "ZMPOP 2 K K MIN ?COUNT N", "ZRANDMEMBER K ?N", "ZRANDMEMBER K N WITHSCORES",
	"ZUNION 2 K K ?WEIGHTS S S", "ZINTER 2 K K ?AGGREGATE MIN", "ZDIFF 2 K K WITHSCORES", "ZUNIONSTORE K 2 K K", "ZINTERSTORE K 2 K K",
	"ZDIFFSTORE K 2 K K", "ZINTERCARD 2 K K", "ZSCAN K 0", "SET K V IFEQ V ?PX T", "SET K V IFNE V ?GET", "SET K V IFDEQ G",
	"SET K V IFDNE G ?FENCE", "DELEX K ?IFEQ V", "DELEX K IFNE V", "DELEX K IFDEQ G", "DELEX K IFDNE G", "DIGEST K",
	"SORT K", "SORT K ALPHA ?DESC ?LIMIT N N", "SORT K BY nosort ?STORE K", "SORT K ALPHA STORE K", "SORT K BY *->f ALPHA GET # GET *",
	"SORT_RO K ALPHA GET a*", "LCS K K ?LEN", "LCS K K IDX ?WITHMATCHLEN",
	"FENCE.CHECK K N", "FENCE.LAST K",
}

func (p *program) line() []string {
	var line []string
	for _, word := range words(p.oneOf(templates)) {
		if word[0] == '?' {
			if p.byte()%2 == 0 {
				break
			}
			word = word[1:]
		}
		line = append(line, p.word(word))
	}
	return line
}

func (p *program) word(word string) string {
	switch word {
	case "K":
		return p.oneOf(fuzzKeys)
	case "F":
		return p.oneOf(fuzzFields)
	case "V":
		return p.oneOf(fuzzValues)
	case "T":
		return p.oneOf(fuzzTimes)
	case "N":
		return p.oneOf(fuzzCount)
	case "S":
		return p.oneOf(fuzzScores)
	case "L":
		return p.oneOf(fuzzLex)
	case "G":
		return p.oneOf(fuzzDigest)
	case "D":
		return strconv.Itoa(p.byte() % 3)
	}
	return word
}

// FuzzApplyTwice runs random command lists on two keyspaces, one of which goes through a snapshot at random points.
// Replies, events and state must be the same. Before each request a dry transaction runs it: that must change
// nothing, and when it says that nothing would change, the reply must be the one of the log. Some requests are taken
// back and run again.
func FuzzApplyTwice(f *testing.F) {
	f.Add([]byte("seed"))
	for i := range templates {
		f.Add([]byte{1, 2, 1, 0, byte(i), 1, 1, 1, 1, 1, 1, 1, 5, 7, 0, 0, byte(i), 0, 3, 1, 2, 1, 1, 1})
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p := &program{data: data}
		one, two := New(), New()
		for range 200 {
			if len(p.data) == 0 {
				break
			}
			two = p.step(t, one, two)
		}
		checkQueues(t, one)
		checkCount(t, one)
		if a, b := dump(t, one), dump(t, two); !bytes.Equal(a, b) {
			t.Fatalf("the states differ:\n%q\n%q", a, b)
		}
	})
}

func (p *program) step(t *testing.T, one, two *Keyspace) *Keyspace {
	t.Helper()
	stamp, choice, line := p.stamp(), p.byte(), p.line()
	r, err := commands.Bind(line, choice%3)
	if err != nil {
		return two
	}
	if choice%8 == 7 {
		two = restored(t, two)
	}
	if choice >= 192 {
		stamp.MaxMemory = 500 // a key or two
	}
	if choice%4 == 2 {
		stamp.FenceMemory = 40
	}
	dry, decided := tryDry(t, one, stamp, r)
	a, before, eventsA := apply(t, one, stamp, r, choice%16 == 5)
	b, _, eventsB := apply(t, two, stamp, r, false)
	if one.Used() != two.Used() {
		t.Fatalf("%q: counted %d bytes, then %d", line, one.Used(), two.Used())
	}
	if !equal(a, b) || !slices.Equal(eventsA, eventsB) {
		t.Fatalf("%q: %s %v, then %s %v", line, show(a), eventsA, show(b), eventsB)
	}
	if !decided {
		return two
	}
	if !equal(a, dry) {
		t.Fatalf("%q: dry %s, in the log %s", line, show(dry), show(a))
	}
	if !bytes.Equal(before, dump(t, one)) {
		t.Fatalf("%q: a dry transaction said that nothing changes, but it did", line)
	}
	return two
}

// tryDry runs a request in a dry transaction at the time of the stamp, and tells whether that decided it.
func tryDry(t *testing.T, ks *Keyspace, s Stamp, r *commands.Request) (resp.Value, bool) {
	t.Helper()
	before := dump(t, ks)
	s.Clock = s.Now
	txn := ks.Try(s)
	txn.Select(r.DB)
	txn.Mark()
	v := txn.Exec(r)
	if !bytes.Equal(before, dump(t, ks)) {
		t.Fatalf("%q: a dry transaction changed the state", r.Args)
	}
	return v, !txn.Undecided()
}

// apply runs a request as an entry of the log does. It returns the reply, the state between the expiry of due keys
// and the request, and the events. With twice the request is taken back and run again.
func apply(t *testing.T, ks *Keyspace, s Stamp, r *commands.Request, twice bool) (resp.Value, []byte, []Event) {
	t.Helper()
	txn := ks.Begin(s)
	txn.ExpireDue(1_000)
	before := dump(t, ks)
	txn.Select(r.DB)
	mark := txn.Mark()
	draws, used := txn.draws, ks.Used()
	txn.Weigh()
	v := txn.Exec(r)
	if twice {
		txn.Rollback(mark)
		if !bytes.Equal(before, dump(t, ks)) {
			t.Fatalf("%q: the state differs after a rollback", r.Args)
		}
		if ks.Used() != used {
			t.Fatalf("%q: counted %d bytes, and %d after a rollback", r.Args, used, ks.Used())
		}
		txn.draws = draws
		v = txn.Exec(r)
	}
	return v, before, txn.Events()
}

// FuzzRestore feeds arbitrary bytes: no panic, no memory beyond a small multiple of the input, and what is accepted
// is written back as it came.
func FuzzRestore(f *testing.F) {
	ks := New()
	for _, line := range [][]string{
		{"SET", "a", "1", "PX", "100"},
		{"HSET", "h", "f", "v"},
		{"SCRIPT", "LOAD", "return 1"},
		{"HSET", "large", fuzzFields[4], "v"},
		{"RPUSH", "list", "a", "b"},
		{"SADD", "ints", "1", "-5"},
		{"SADD", "set", "a", "b"},
		{"ZADD", "zset", "1.5", "a", "2", "b"},
		{"ZADD", "skiplist", "1.5", fuzzFields[4]},
		{"FENCE.CHECK", "r", "77"},
	} {
		ks.Begin(Stamp{Now: 10, Wall: 1}).Exec(mustBind(line))
	}
	var good bytes.Buffer
	if _, err := ks.View().WriteTo(&good); err != nil {
		f.Fatal(err)
	}
	f.Add(good.Bytes())
	f.Add(good.Bytes()[:good.Len()/2])
	f.Add([]byte("RFKS\x01\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\x7f"))
	f.Fuzz(func(t *testing.T, data []byte) {
		fresh := New()
		before := allocated()
		err := fresh.Restore(bytes.NewReader(data))
		if used := allocated() - before; used > 8<<20+uint64(100*len(data)) {
			t.Errorf("%d bytes of input took %d bytes of memory", len(data), used)
		}
		sealed := seal(data)
		switch {
		case err != nil && !errors.Is(err, ErrSnapshot):
			t.Errorf("error %v is not ErrSnapshot", err)
		case New().Restore(bytes.NewReader(sealed)) == nil:
			checkRewrite(t, sealed)
		}
	})
}

// seal gives data a valid checksum, so that the fuzzer reaches what is behind it.
func seal(data []byte) []byte {
	var b bytes.Buffer
	e := newEncoder(&b)
	e.raw(string(data))
	_, _ = e.close()
	return b.Bytes()
}

// checkRewrite checks that a snapshot that was accepted gives a state that can be written and read again.
func checkRewrite(t *testing.T, data []byte) {
	t.Helper()
	ks := New()
	if err := ks.Restore(bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	checkQueues(t, ks)
	if first, second := dump(t, ks), dump(t, restored(t, ks)); !bytes.Equal(first, second) {
		t.Errorf("%q, then %q", first, second)
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

func mustBind(line []string) *commands.Request {
	r, err := commands.Bind(line, 0)
	if err != nil {
		panic(fmt.Sprint(line, err))
	}
	return r
}
