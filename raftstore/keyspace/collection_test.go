package keyspace

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/integration/harness"
)

// TestLargeCollectionsAreThoseOfRedis runs a long list of random commands on collections that grow past the bounds of
// the small forms and shrink again, here and on a real redis-server. A snapshot and a restore come in between.
func TestLargeCollectionsAreThoseOfRedis(t *testing.T) {
	const rounds = 4_000
	conn := harness.Dial(t, harness.StartRedis(t).Addr)
	ks, draw := New(), rand.New(rand.NewPCG(1, 2)) // a fixed seed: every run is the same
	for round := range rounds {
		growing := round%2_000 < 1_200
		lines := []redisLine{
			{args: words(listLine(draw, growing))},
			{args: words(setLine(draw, growing))},
			{args: words(zsetLine(draw, growing))},
		}
		for i := range lines {
			lines[i].text = strings.Join(lines[i].args, " ")
			lines[i].unordered = lines[i].args[0] == "SMEMBERS"
		}
		compare(t, conn, ks, lines, resp.RESP2)
		if round%500 == 499 {
			ks = restored(t, ks)
		}
		if t.Failed() {
			t.Fatalf("after %d rounds", round)
		}
	}
}

func listLine(draw *rand.Rand, growing bool) string {
	i, e := draw.IntN(400)-200, fmt.Sprintf("e%d", draw.IntN(60))
	if growing && draw.IntN(3) > 0 {
		return fmt.Sprintf("%s l %s x%d", []string{"LPUSH", "RPUSH"}[draw.IntN(2)], e, i)
	}
	return []string{
		fmt.Sprintf("LINDEX l %d", i), fmt.Sprintf("LRANGE l %d %d", i, draw.IntN(400)-200), fmt.Sprintf("LSET l %d %s", i, e),
		"LPOP l", "RPOP l 3", "LINSERT l BEFORE " + e + " new", "LINSERT l AFTER " + e + " new", "LPOS l " + e + " COUNT 0",
		"LPOS l " + e + " RANK -2", fmt.Sprintf("LREM l %d %s", draw.IntN(5)-2, e), "LTRIM l 1 -2", "LMOVE l l LEFT RIGHT",
		"RPOPLPUSH l l", "LLEN l",
	}[draw.IntN(14)]
}

func setLine(draw *rand.Rand, growing bool) string {
	m := fmt.Sprint(draw.IntN(900))
	if growing && draw.IntN(3) > 0 {
		return fmt.Sprintf("SADD s %s m%s", m, m)
	}
	return []string{
		"SREM s " + m + " m" + m, "SISMEMBER s " + m, "SCARD s", "SMEMBERS s", "SADD i " + m, "SREM i " + m, "OBJECT ENCODING i",
		"SMOVE s i " + m, "SINTERCARD 2 s i", "SDIFFSTORE d i s", "SMEMBERS d", "SUNIONSTORE i i",
	}[draw.IntN(12)]
}

func zsetLine(draw *rand.Rand, growing bool) string {
	m, score, n := draw.IntN(900), draw.IntN(100), draw.IntN(300)
	if growing && draw.IntN(3) > 0 {
		return fmt.Sprintf("ZADD z %d m%d %d.5 n%d", score, m, score, m)
	}
	return []string{
		fmt.Sprintf("ZREM z m%d n%d", m, m), fmt.Sprintf("ZRANK z m%d", m), fmt.Sprintf("ZREVRANK z m%d", m),
		fmt.Sprintf("ZRANGE z %d %d WITHSCORES", n, n+20), fmt.Sprintf("ZRANGE z %d %d REV", n-50, n),
		fmt.Sprintf("ZRANGEBYSCORE z %d (%d LIMIT 2 20", score, score+9), fmt.Sprintf("ZREVRANGEBYSCORE z %d %d WITHSCORES", score, score-5),
		fmt.Sprintf("ZCOUNT z (%d %d", score, score+10), fmt.Sprintf("ZINCRBY z 3 m%d", m), "ZPOPMIN z", "ZPOPMAX z 2",
		fmt.Sprintf("ZREMRANGEBYSCORE z %d %d", score, score), fmt.Sprintf("ZREMRANGEBYRANK z %d %d", n, n+3), "OBJECT ENCODING z",
		fmt.Sprintf("ZADD z GT CH %d m%d", score, m), "ZRANGESTORE y z 0 200", "OBJECT ENCODING y", "ZINTERCARD 2 z y", "ZUNIONSTORE y 2 y z",
	}[draw.IntN(19)]
}

func TestEncodings(t *testing.T) {
	long := strings.Repeat("m", 65)
	tests := []struct {
		name string
		make []string
		want string
	}{
		{"a list", []string{"RPUSH k a"}, "quicklist"},
		{"integers", []string{"SADD k 1 2"}, "intset"},
		{"512 integers", many("SADD k %d", 512), "intset"},
		{"513 integers", many("SADD k %d", 513), "hashtable"},
		{"a word among integers", []string{"SADD k 1 a", "SREM k a"}, "hashtable"},
		{"a sorted set", []string{"ZADD k 1 a"}, "listpack"},
		{"128 members", many("ZADD k 1 %d", 128), "listpack"},
		{"129 members", many("ZADD k 1 %d", 129), "skiplist"},
		{"129 members, then fewer", append(many("ZADD k 1 %d", 129), "ZREMRANGEBYRANK k 0 100"), "skiplist"},
		{"a member of 64 bytes", []string{"ZADD k 1 " + long[1:]}, "listpack"},
		{"a member of 65 bytes", []string{"ZADD k 1 " + long}, "skiplist"},
		{"a small part of a large one", append(many("ZADD z 1 %d", 129), "ZRANGESTORE k z 0 5"), "listpack"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ks := New()
			run(t, ks, Stamp{}, tt.make...)
			for _, ks := range []*Keyspace{ks, restored(t, ks)} {
				if got := run(t, ks, Stamp{}, "OBJECT ENCODING k"); got.Str != tt.want {
					t.Errorf("encoding %s, want %s", got.Str, tt.want)
				}
			}
		})
	}
}

func many(line string, n int) (lines []string) {
	for i := range n {
		lines = append(lines, fmt.Sprintf(line, i))
	}
	return lines
}

// TestClonesAreIndependent changes copies of collections of both forms and looks at the originals.
func TestClonesAreIndependent(t *testing.T) {
	for _, n := range []int{5, 1_000} {
		ks := New()
		run(t, ks, Stamp{}, many("RPUSH l %d", n)...)
		run(t, ks, Stamp{}, many("SADD s m%d", n)...)
		run(t, ks, Stamp{}, many("ZADD z 1 m%d", n)...)
		run(t, ks, Stamp{}, "COPY l l2", "COPY s s2", "COPY z z2")
		txn := ks.Begin(Stamp{})
		mark := txn.Mark()
		before := dump(t, ks)
		for _, line := range []string{
			"LPUSH l2 x", "LSET l2 3 x", "LREM l2 1 4", "LTRIM l2 1 -2", "LINSERT l2 BEFORE 2 x", "SADD s2 x", "SREM s2 m1", "SPOP s2",
			"ZADD z2 5 m1 7 x", "ZREM z2 m2", "ZPOPMAX z2", "ZREMRANGEBYRANK z2 0 0",
		} {
			if v := exec(t, txn, line); v.IsErr() {
				t.Fatalf("%s: %s", line, v.Str)
			}
		}
		for _, line := range []string{"LLEN l", "SCARD s", "ZCARD z", "ZCOUNT z 1 1"} {
			if got := exec(t, txn, line); got.Int() != int64(n) {
				t.Errorf("%s answers %d, want %d", line, got.Int(), n)
			}
		}
		txn.Rollback(mark)
		if !bytes.Equal(before, dump(t, ks)) {
			t.Errorf("%d elements: the state differs after a rollback", n)
		}
	}
}

// TestRandomMembers draws from sets of all forms: members that are there, as many as asked for, each once unless the
// count is negative, and the same for the same stamp.
func TestRandomMembers(t *testing.T) {
	for _, add := range []string{"SADD k %d", "SADD k m%d", "ZADD k 1 m%d"} {
		for _, n := range []int{10, 600} {
			ks := New()
			run(t, ks, Stamp{Wall: 7}, many(add, n)...)
			command := "SRANDMEMBER k "
			if add[0] == 'Z' {
				command = "ZRANDMEMBER k "
			}
			for count, want := range map[string]int{"7": 7, "-20": 20, "1000": n} {
				got := run(t, ks, Stamp{Wall: 7}, command+count)
				different := map[string]bool{}
				for _, e := range got.Elems {
					different[e.Str] = true
				}
				if len(got.Elems) != want || (count[0] != '-' && len(different) != want) {
					t.Errorf("%s %s: %d members, %d different", add, count, len(got.Elems), len(different))
				}
				if again := run(t, restored(t, ks), Stamp{Wall: 7}, command+count); !equal(got, again) {
					t.Errorf("%s %s: another draw for the same stamp", add, count)
				}
			}
		}
	}
}

// TestPopEmptiesASet pops until nothing is left: every member comes once.
func TestPopEmptiesASet(t *testing.T) {
	for _, add := range []string{"SADD k %d", "SADD k m%d"} {
		ks := New()
		run(t, ks, Stamp{}, many(add, 700)...)
		popped := map[string]bool{}
		for i := range 700 {
			if v := run(t, ks, Stamp{Wall: int64(i)}, "SPOP k"); !v.IsNull() {
				popped[v.Str] = true
			}
		}
		if len(popped) != 700 || ks.Len() != 0 {
			t.Errorf("%s: %d members came, %d keys left", add, len(popped), ks.Len())
		}
	}
}
