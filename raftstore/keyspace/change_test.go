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
		"SCRIPT LOAD \"return 1\"",
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
		// errors
		"INCR s", "INCR h", "APPEND h x", "SETRANGE h 0 x", "INCRBYFLOAT s 1", "INCRBY n 9223372036854775807",
		"GETSET h x", "GETDEL h", "GETEX h PX 5", "SET h x GET", "HSET s f v", "HDEL s f", "HINCRBY s f 1",
		"HINCRBY h f 1", "HINCRBYFLOAT h f 1", "HSETNX s f v", "SET s v PX 9223372036854775807",
		"SETRANGE s 999999999 x", "PEXPIRE s 9223372036854775807",
		// reads
		"GET s", "MGET s h", "HGETALL h", "KEYS *", "SCAN 0", "HSCAN h 0", "RANDOMKEY", "DBSIZE", "TTL ttl",
		"OBJECT ENCODING s", "HRANDFIELD h 2", "FENCE s", "SCRIPT EXISTS abc",
	} {
		t.Run(line, func(t *testing.T) {
			ks := New()
			run(t, ks, Stamp{Now: 10, Wall: 60_000_000}, setup...)
			before := dump(t, ks)
			dry := ks.Try(10, 60_000_000)
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
		"SCRIPT LOAD \"return 1\"",
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
	} {
		t.Run(line, func(t *testing.T) {
			ks := New()
			run(t, ks, Stamp{Now: 10, Wall: 60_000_000}, setup...)
			before := dump(t, ks)
			dry := ks.Try(10, 60_000_000)
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
	run(t, ks, Stamp{Now: 1}, "SET taken v")
	before := dump(t, ks)
	for _, line := range []string{
		"MSETNX a 1 taken 2", "MSETNX taken 1 a 2", "MSET a 1 b", "MSET a 1 __fence__:x 2",
		"DEL taken __fence__:x", "HSET taken f v", "COPY taken x DB 16",
	} {
		run(t, ks, Stamp{Now: 1}, line)
		if !bytes.Equal(before, dump(t, ks)) {
			t.Errorf("%s: the state has changed", line)
		}
	}
}
