package keyspace

import (
	"bytes"
	"testing"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

// TestWhatChangesNothing lists requests after which everything is as before: a dry transaction must say so, and the
// real one must leave the state alone, token counter included.
func TestWhatChangesNothing(t *testing.T) {
	setup := []string{
		"SET s v", "SET ttl v PX 5000", "SET abs v PXAT 90000", "SET n 5", "SET e \"\"", "HSET h f v n 5",
		"SCRIPT LOAD \"return 1\"", "RPUSH l a b a", "RPUSH one a", "SADD m a b", "SADD i 1 2", "ZADD z 1 a 2 b",
	}
	for _, line := range []string{
		"SET s v", "SET ttl v PX 5000", "SET ttl v KEEPTTL", "SET abs v PXAT 90000", "SET s w NX", "SET nokey w XX",
		"SET abs v EXAT 90", "SETNX s w", "SETEX ttl 5 v", "PSETEX ttl 5000 v", "GETSET s v", "MSET s v n 5",
		"MSETNX new 1 s 2", "GETDEL nokey", "GETEX s", "GETEX s PERSIST", "GETEX ttl PX 5000", "GETEX abs PXAT 90000",
		"GETEX nokey PX 5", "APPEND s \"\"", "SETRANGE s 0 v", "SETRANGE s 0 \"\"", "SETRANGE nokey 3 \"\"",
		"INCRBY n 0", "INCRBYFLOAT n 0", "DEL nokey", "UNLINK nokey nokey2", "EXPIRE nokey 5", "PEXPIRE ttl 5000",
		"EXPIRE ttl 5", "PEXPIREAT abs 90000", "EXPIREAT abs 90", "PEXPIRE ttl 4000 GT", "PEXPIRE ttl 6000 LT",
		"PEXPIREAT abs 90000 GT", "PEXPIREAT abs 90000 LT", "PEXPIRE ttl 6000 NX", "PEXPIRE s 6000 XX", "PEXPIRE s 6000 GT",
		"PERSIST s", "PERSIST nokey", "RENAME s s", "RENAME nokey x", "RENAMENX s n", "RENAMENX s s", "COPY s n",
		"COPY nokey x", "MOVE nokey 3", "MOVE s 0", "SWAPDB 0 0", "SWAPDB 3 4", "HSET h f v", "HMSET h f v n 5",
		"HSETNX h f w", "HDEL h nofield", "HDEL nokey f", "HINCRBY h n 0", "HINCRBYFLOAT h n 0",
		"SCRIPT LOAD \"return 1\"",
		"LPUSHX nokey a", "RPUSHX nokey a", "LPOP nokey", "RPOP nokey 2", "LPOP l 0", "LSET l 0 a", "LINSERT l BEFORE x y",
		"LINSERT nokey BEFORE x y", "LREM l 0 x", "LREM nokey 0 x", "LTRIM l 0 -1", "LTRIM nokey 0 1", "LMOVE nokey l LEFT LEFT",
		"LMOVE l l LEFT LEFT", "RPOPLPUSH one one", "RPOPLPUSH nokey l", "LMPOP 2 nokey new LEFT",
		"SADD m a b", "SADD i 2", "SREM m x", "SREM nokey x", "SPOP nokey", "SPOP m 0", "SMOVE m i x", "SMOVE nokey m a", "SMOVE m m a",
		"SUNIONSTORE m m", "SUNIONSTORE i i i", "SINTERSTORE nokey m new", "SDIFFSTORE nokey m m",
		"ZADD z 1 a", "ZADD z NX 5 a", "ZADD z XX 5 x", "ZADD z GT 0 a", "ZADD z LT 2 a", "ZADD nokey XX 1 a", "ZADD z INCR 0 a",
		"ZINCRBY z 0 b", "ZREM z x", "ZREM nokey x", "ZREMRANGEBYSCORE z 5 9", "ZREMRANGEBYRANK z 5 9", "ZREMRANGEBYLEX z [x +",
		"ZREMRANGEBYSCORE nokey -inf inf", "ZPOPMIN nokey", "ZPOPMAX z 0", "ZMPOP 2 nokey new MIN", "ZRANGESTORE z z 0 -1",
		"ZRANGESTORE nokey z 5 9", "ZUNIONSTORE z 1 z", "ZINTERSTORE nokey 2 z new", "ZDIFFSTORE nokey 2 z z",
		// errors
		"INCR s", "INCR h", "APPEND h x", "SETRANGE h 0 x", "INCRBYFLOAT s 1", "INCRBY n 9223372036854775807",
		"GETSET h x", "GETDEL h", "GETEX h PX 5", "SET h x GET", "HSET s f v", "HDEL s f", "HINCRBY s f 1",
		"HINCRBY h f 1", "HINCRBYFLOAT h f 1", "HSETNX s f v", "SET s v PX 9223372036854775807",
		"SETRANGE s 999999999 x", "PEXPIRE s 9223372036854775807",
		"LPUSH s a", "LPOP z", "LSET l 9 a", "LSET nokey 0 a", "LSET l x a", "LMOVE l s LEFT LEFT", "LMPOP 2 s l LEFT", "SADD l a", "SMOVE m z a",
		"SUNIONSTORE new m l", "ZADD m 1 a", "ZADD z INCR inf a x", "ZADD z 1 x abc y", "ZUNIONSTORE new 2 z l", "ZUNIONSTORE new 2 z z BAD",
		"ZRANGESTORE new m 0 1", "ZMPOP 2 m z MIN",
		// reads
		"GET s", "MGET s h", "HGETALL h", "KEYS *", "SCAN 0", "HSCAN h 0", "RANDOMKEY", "DBSIZE", "TTL ttl",
		"LRANGE l 0 -1", "SMEMBERS m", "SRANDMEMBER m 2", "SUNION m i", "ZRANGE z 0 -1", "ZRANDMEMBER z -3", "ZUNION 2 z m", "ZSCAN z 0",
		"OBJECT ENCODING s", "HRANDFIELD h 2", "FENCE s", "SCRIPT EXISTS abc", "FENCE.LAST r",
	} {
		t.Run(line, func(t *testing.T) {
			ks := New()
			run(t, ks, Stamp{Now: 10, Wall: 60_000_000}, setup...)
			before := dump(t, ks)
			dry := ks.Try(Stamp{Clock: 10, Wall: 60_000_000})
			want := exec(t, dry, line)
			if dry.Undecided() {
				t.Error("a dry transaction leaves it to the log")
			}
			if got := run(t, ks, Stamp{Now: 10, Wall: 60_000_000}, line); !equal(got, want) {
				t.Errorf("reply %s, dry %s", show(got), show(want))
			}
			if !bytes.Equal(before, dump(t, ks)) {
				t.Error("the state has changed")
			}
		})
	}
}

// TestWhatChangesSomething is the counterpart: a dry transaction leaves these to the log and does not do them.
func TestWhatChangesSomething(t *testing.T) {
	setup := []string{
		"SET s v", "SET ttl v PX 5000", "SET abs v PXAT 90000", "SET n 5", "HSET h f v n 5",
		"SCRIPT LOAD \"return 1\"", "RPUSH l a b a", "RPUSH one a", "SADD m a b", "SADD i 1 2", "ZADD z 1 a 2 b", "SADD tm a",
		"EXPIRE tm 100",
	}
	for _, line := range []string{
		"SET s w", "SET s v PX 5", "SET ttl v", "SET ttl v PX 4999", "SET abs v PXAT 90001", "SET new v NX",
		"SETNX new v", "SETEX ttl 6 v", "GETSET s w", "MSET s v new 1", "MSETNX a 1 b 2", "GETDEL s", "GETEX ttl PERSIST",
		"GETEX s PX 5", "GETEX s PXAT 1", "APPEND s x", "APPEND new \"\"", "SETRANGE s 0 w", "SETRANGE s 3 w", "INCR n",
		"INCR new", "INCRBY new 0", "INCRBYFLOAT n 1", "DEL s", "UNLINK h", "EXPIRE s 5", "PEXPIRE ttl 5001", "EXPIRE s -1",
		"PEXPIREAT abs 90001", "PEXPIRE abs 30000", "PERSIST ttl", "RENAME s n", "RENAMENX s new", "COPY s new",
		"COPY s n REPLACE", "MOVE s 3", "SWAPDB 0 1", "FLUSHDB", "FLUSHALL", "HSET h f w", "HSET h g v", "HMSET h g v",
		"HSETNX h g v", "HDEL h f", "HDEL h f n", "HINCRBY h n 1", "HINCRBY new n 1", "HINCRBY h new 0",
		"HINCRBYFLOAT h n 1", "SCRIPT LOAD \"return 2\"", "SCRIPT FLUSH", "PUBLISH ch m",
		"LPUSH l a", "RPUSH new a", "RPUSHX l a", "LPOP l", "RPOP l 2", "LPOP one", "LSET l 0 b", "LINSERT l AFTER b x", "LREM l 0 a",
		"LREM one 0 a", "LTRIM l 1 1", "LTRIM l 5 9", "LMOVE l one LEFT RIGHT", "LMOVE l l LEFT RIGHT", "RPOPLPUSH one new", "LMPOP 2 new l LEFT",
		"SADD m c", "SADD i x", "SADD new a", "SREM m a", "SREM m a b", "SPOP m", "SPOP i 9", "SMOVE m i a", "SMOVE m new a", "SUNIONSTORE m m i",
		"SINTERSTORE m m i", "SDIFFSTORE new m i", "SUNIONSTORE tm tm", "SUNIONSTORE s m",
		"ZADD z 3 a", "ZADD z 1 c", "ZADD new 1 c", "ZADD z GT 5 a", "ZADD z INCR 1 a", "ZINCRBY z 1 b", "ZREM z a", "ZREM z a b",
		"ZREMRANGEBYSCORE z 1 1", "ZREMRANGEBYRANK z 0 -1", "ZREMRANGEBYLEX z - +", "ZPOPMIN z", "ZPOPMAX z 5", "ZMPOP 1 z MIN",
		"ZRANGESTORE z z 0 0", "ZRANGESTORE new z 0 0", "ZRANGESTORE z z 5 9", "ZUNIONSTORE z 1 z WEIGHTS 2", "ZDIFFSTORE z 2 z z",
		"ZINTERSTORE new 2 z m", "FENCE.CHECK r 5",
	} {
		t.Run(line, func(t *testing.T) {
			ks := New()
			run(t, ks, Stamp{Now: 10, Wall: 60_000_000}, setup...)
			before := dump(t, ks)
			dry := ks.Try(Stamp{Clock: 10, Wall: 60_000_000})
			exec(t, dry, line)
			if !dry.Undecided() {
				t.Error("a dry transaction thinks that nothing changes")
			}
			if !bytes.Equal(before, dump(t, ks)) {
				t.Error("a dry transaction has changed the state")
			}
			txn := ks.Begin(Stamp{Now: 10, Wall: 60_000_000})
			mark := txn.Mark()
			if v := exec(t, txn, line); v.IsErr() {
				t.Fatal(v.Str)
			}
			if bytes.Equal(before, dump(t, ks)) && len(txn.Events()) == 0 {
				t.Error("the state has not changed")
			}
			txn.Rollback(mark)
			if !bytes.Equal(before, dump(t, ks)) {
				t.Error("the state differs after a rollback")
			}
			checkQueues(t, ks)
		})
	}
}

func exec(t *testing.T, txn *Txn, line string) resp.Value {
	t.Helper()
	r, err := commands.Bind(words(line), 0)
	if err != nil {
		return resp.ReplyFor(err)
	}
	return txn.Exec(r)
}

// checkQueues checks that the expiry queue of each database holds exactly its keys with a TTL.
func checkQueues(t *testing.T, ks *Keyspace) {
	t.Helper()
	for i, db := range ks.dbs {
		n := 0
		db.keys.each(func(key string, o *object) bool {
			if key != o.key {
				t.Errorf("db%d: the object of %q says that it is %q", i, key, o.key)
			}
			if o.deadline == 0 {
				return true
			}
			n++
			if _, queued := db.due.Get(dueKey{o.deadline, key}); !queued {
				t.Errorf("db%d: %q is not in the expiry queue", i, key)
			}
			return true
		})
		if n != db.due.Len() {
			t.Errorf("db%d: %d keys with a TTL, %d in the expiry queue", i, n, db.due.Len())
		}
	}
}

// TestAFailedRequestOfManyKeysChangesNone covers those that could fail half way.
func TestAFailedRequestOfManyKeysChangesNone(t *testing.T) {
	ks := New()
	run(t, ks, Stamp{Now: 1}, "SET taken v", "RPUSH l a", "SADD m a", "ZADD z 1 a")
	before := dump(t, ks)
	for _, line := range []string{
		"MSETNX a 1 taken 2", "MSETNX taken 1 a 2", "MSET a 1 b", "MSET a 1 __fence__:x 2",
		"DEL taken __fence__:x", "HSET taken f v", "COPY taken x DB 16",
		"LMOVE l taken LEFT LEFT", "LMOVE l __fence__:x LEFT LEFT", "SMOVE m taken a", "SUNIONSTORE m m taken", "ZADD z 2 a x b",
		"ZUNIONSTORE m 2 z taken", "ZUNIONSTORE __fence__:x 1 z", "LMPOP 2 __fence__:x l LEFT", "LMPOP 2 taken l LEFT",
	} {
		run(t, ks, Stamp{Now: 1}, line)
		if !bytes.Equal(before, dump(t, ks)) {
			t.Errorf("%s: the state has changed", line)
		}
	}
}
