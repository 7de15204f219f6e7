package keyspace

import (
	"strconv"
	"strings"
	"testing"

	"github.com/redfence/redfence/commands/resp"
)

// recount is Used by walking over everything.
func recount(ks *Keyspace) (n int64) {
	count := func(overhead int, texts ...string) { n += int64(overhead + len(strings.Join(texts, ""))) }
	ks.scripts.bySHA.Scan(func(_, text string) bool {
		count(keyBytes, text)
		return true
	})
	for _, db := range ks.dbs {
		db.keys.each(func(key string, o *object) bool {
			count(keyBytes, key, o.str)
			eachElement(o.coll, func(texts ...string) { count(elementBytes, texts...) })
			return true
		})
	}
	return n
}

func eachElement(c collection, f func(texts ...string)) {
	switch c := c.(type) {
	case *hash:
		c.each(func(field, value string) bool {
			f(field, value)
			return true
		})
	case *list:
		c.each(0, c.len(), func(_ int, s string) bool {
			f(s)
			return true
		})
	case *memberSet:
		for _, member := range c.list() {
			f(member)
		}
	case *zset:
		for _, m := range c.list() {
			f(m.member)
		}
	}
}

func checkCount(t *testing.T, ks *Keyspace) {
	t.Helper()
	if got, want := ks.Used(), recount(ks); got != want {
		t.Fatalf("counted %d bytes, the content has %d", got, want)
	}
}

// TestUsedFollowsTheContent runs a list of commands as one step, as a script does, and looks at the count after each.
func TestUsedFollowsTheContent(t *testing.T) {
	long, ks := strings.Repeat("x", 100), New()
	txn := ks.Begin(Stamp{Now: 10, Wall: 1_000_000})
	mark := txn.Mark()
	lines := []string{
		"SET a 1", "APPEND a " + long, "SETRANGE a 300 z", "SET a 2 PX 5", "PERSIST a", "RENAME a b", "COPY b c", "MOVE c 1", "INCR b",
		"HSET h f 1 g 2", "HSET h f " + long, "HINCRBY h g 100", "HDEL h f", "HSET h f 2", "RENAME h i", "HSET i k " + long, "DEL i", "HSET h f v",
		"RPUSH l a b c " + long, "LSET l 1 xyz", "LINSERT l BEFORE c new", "LREM l 1 c", "LTRIM l 1 -1", "LMOVE l m LEFT RIGHT", "LPOP l 9",
		"SADD s 1 2 3", "SADD s -77", "SREM s 2", "SADD s member", "SADD s " + long, "SREM s member", "SUNIONSTORE t s s", "SPOP t 2",
		"ZADD z 1 a 2 b 3 c", "ZADD z 5 a", "ZADD z 1 " + long, "ZINCRBY z 1 b", "ZREM z b", "ZUNIONSTORE y 2 z z", "ZREMRANGEBYRANK z 0 0", "ZPOPMIN z",
		"SWAPDB 0 1", "SET a v", "HSET h f other", "SCRIPT LOAD text", "SCRIPT LOAD text", "SCRIPT LOAD other", "SWAPDB 0 1", "HSET h f back",
		"FLUSHDB", "SET a again", "SCRIPT FLUSH", "FLUSHALL",
	}
	for i := range 300 { // beyond the bounds of the small forms
		n := strconv.Itoa(i)
		lines = append(lines, "HSET H "+n+" v", "RPUSH L "+n, "LPUSH L "+n, "SADD S "+n+" m"+n, "ZADD Z "+n+" "+n)
	}
	for _, line := range append(lines, "LTRIM L 5 -5", "LREM L 0 7", "ZREMRANGEBYSCORE Z 5 100", "HDEL H 1 2 3", "SPOP S 100") {
		if v := txn.Exec(mustBind(words(line))); v.IsErr() {
			t.Fatalf("%s: %s", line, show(v))
		}
		checkCount(t, ks)
	}
	if a, b := ks.Used(), restored(t, ks).Used(); a != b {
		t.Errorf("counted %d bytes, %d after a restore", a, b)
	}
	txn.Rollback(mark)
	if ks.Used() != 0 {
		t.Errorf("%d bytes are left after a rollback", ks.Used())
	}
}

// TestFullStateRefusesGrowthOnly shows what a state over its limit still does: whatever makes it no larger.
func TestFullStateRefusesGrowthOnly(t *testing.T) {
	oom := resp.Failure("OOM command not allowed when used memory > 'maxmemory'.")
	tests := map[string]bool{ // whether it is refused
		"SET new v": true, "SET k longer": true, "APPEND k x": true, "HSET h g v": true, "RPUSH l b": true, "SADD s b": true,
		"ZADD z 2 b": true, "COPY k k2": true, "SETEX k 10 longer": true, "HSET h f longer": true, "INCRBY n 1": true,
		"SET k w": false, "SET k v NX": false, "SET k v PX 5000": false, "HINCRBY h n -1": false, "GET k": false, "DEL k": false,
		"PEXPIRE k 10": false, "PERSIST k": false, "RENAME k x": false, "LPOP l": false, "LMOVE l l LEFT RIGHT": false, "SREM s a": false,
		"ZADD z 5 a": false, "ZPOPMIN z": false, "GETDEL k": false, "PUBLISH c m": false, "FLUSHALL": false, "SWAPDB 0 1": false,
	}
	for line, refused := range tests {
		t.Run(line, func(t *testing.T) {
			ks := New()
			run(t, ks, Stamp{Now: 1}, "SET k v", "HSET h f v n 10", "RPUSH l a", "SADD s a", "ZADD z 1 a", "SET n 9")
			before := dump(t, ks)
			txn := ks.Begin(Stamp{Now: 1, MaxMemory: 1})
			txn.Weigh()
			v := txn.Exec(mustBind(words(line)))
			if got := equal(v, oom.Value()); got != refused {
				t.Errorf("answered %s", show(v))
			}
			if refused && string(before) != string(dump(t, ks)) {
				t.Error("a refused command changed the state")
			}
			checkCount(t, ks)
		})
	}
}

// TestLimitOfMemory looks at the borders: a state that is just as large as its limit is not full, no limit is never
// reached, and a dry transaction refuses nothing.
func TestLimitOfMemory(t *testing.T) {
	ks := New()
	run(t, ks, Stamp{Now: 1}, "SET k v")
	for limit, full := range map[int64]bool{0: false, ks.Used(): false, ks.Used() - 1: true} {
		txn := ks.Begin(Stamp{Now: 1, MaxMemory: limit})
		if txn.Weigh(); txn.Full() != full {
			t.Errorf("limit %d of %d bytes: full is %v", limit, ks.Used(), txn.Full())
		}
	}
	dry := ks.Try(Stamp{Clock: 1, Wall: 1})
	dry.Weigh()
	dry.Exec(mustBind(words("SET k longer")))
	if !dry.Undecided() {
		t.Error("a dry transaction decided about growth")
	}
}
