package integration

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
)

// importInto runs redfence import and returns its exit code and output.
func importInto(t *testing.T, from, to *harness.Server, args ...string) (code int, printed string) {
	t.Helper()
	return harness.RunRedfence(t, append([]string{"import", "--from", "redis://" + from.Addr, "--lock-keys", "lock:*", "--addr", to.Addr}, args...)...)
}

// eachMode runs a test with redfence in either mode.
func eachMode(t *testing.T, test func(t *testing.T, redfence *harness.Server)) {
	t.Helper()
	t.Run("raft", func(t *testing.T) { test(t, harness.StartRedfence(t)) })
	t.Run("quorum3", func(t *testing.T) { test(t, harness.StartQuorum(t, 3).Server) })
}

// TestLocksStayExclusiveAcrossTheSwitch has clients hold locks at a Redis, imports them, and goes on with redfence: nobody
// else gets a lock before its lease ends, and its owner extends and releases it as before.
func TestLocksStayExclusiveAcrossTheSwitch(t *testing.T) {
	eachMode(t, func(t *testing.T, redfence *harness.Server) {
		old := harness.StartRedis(t)
		a := harness.Dial(t, old.Addr)
		a.Want("OK", "SET", "lock:plain", "token-a", "NX", "PX", "30000")
		a.Want("OK", "SET", "lock:short", "token-a", "NX", "PX", "3000")
		a.Want("(nil)", "EVAL", enterLock, "1", "lock:hash", "30000", "uuid:1")
		a.Want("(nil)", "EVAL", enterLock, "1", "lock:hash", "30000", "uuid:1")
		a.Want("OK", "SET", "lock:forever", "token-a", "NX")
		a.Want("OK", "SET", "redisson_lock_token:{lock:hash}", "7")
		a.Want("(integer) 1", "RPUSH", "lock:list", "x")
		a.Want("OK", "SET", "stock", "5")
		a.Want("OK", "SELECT", "3")
		a.Want("OK", "SET", "lock:plain", "another database", "PX", "30000")
		shortEnds := time.Now().Add(time.Duration(harness.Dial(t, old.Addr).Int("PTTL", "lock:short")) * time.Millisecond)

		code, printed := importInto(t, old, redfence, "--stop-writes")
		if code != 0 || !strings.Contains(printed, "copied 6, already there 0") || !strings.Contains(printed, `"lock:list" is a list`) {
			t.Fatalf("import ended with %d and printed\n%s", code, printed)
		}
		if r := harness.Dial(t, old.Addr).Do("SET", "lock:late", "x", "NX", "PX", "1000"); !r.IsError() {
			t.Errorf("the old server still grants: %s", r)
		}

		b := harness.Dial(t, redfence.Addr)
		b.Want("(nil)", "SET", "lock:plain", "token-b", "NX", "PX", "30000")
		b.Want("(nil)", "SET", "lock:forever", "token-b", "NX", "PX", "30000")
		b.Want("(integer) -1", "PTTL", "lock:forever")
		if left := b.Int("EVAL", enterLock, "1", "lock:hash", "30000", "uuid:2"); left <= 0 || left > 30_000 {
			t.Errorf("another owner of the hash is told to wait %d ms", left)
		}
		b.Want(`["uuid:1", "2"]`, "HGETALL", "lock:hash")
		b.Want("(nil)", "GET", "stock")
		for b.Do("SET", "lock:short", "token-b", "NX", "PX", "30000").String() != "OK" {
		}
		if early := time.Until(shortEnds); early > 0 {
			t.Errorf("somebody else got a lock %v before its lease was over", early)
		}

		a = harness.Dial(t, redfence.Addr)
		a.Want("(integer) 1", "EVAL", compareAndExpire, "1", "lock:plain", "token-a", "60000")
		a.Want("(integer) 1", "EVAL", compareAndDelete, "1", "lock:plain", "token-a")
		b.Want("OK", "SET", "lock:plain", "token-b", "NX", "PX", "30000")
		a.Want("(nil)", "EVAL", enterLock, "1", "lock:hash", "30000", "uuid:1")
		a.Want("OK", "SELECT", "3")
		a.Want(`"another database"`, "GET", "lock:plain")
	})
}

// TestImportOverwritesNothing runs it again, and against locks that others hold.
func TestImportOverwritesNothing(t *testing.T) {
	eachMode(t, func(t *testing.T, redfence *harness.Server) {
		old := harness.StartRedis(t)
		a, b := harness.Dial(t, old.Addr), harness.Dial(t, redfence.Addr)
		a.Want("OK", "SET", "lock:same", "token-a", "PX", "30000")
		a.Want("(integer) 1", "HSET", "lock:hash", "uuid:1", "1")
		a.Want("(integer) 1", "PEXPIRE", "lock:hash", "30000")
		a.Want("OK", "SET", "lock:theirs", "token-a", "PX", "30000")
		b.Want("OK", "SET", "lock:theirs", "token-b", "PX", "40000")

		code, printed := importInto(t, old, redfence)
		if code != 1 || !strings.Contains(printed, `"lock:theirs" is held by somebody else here`) || !strings.Contains(printed, "copied 2") {
			t.Errorf("import ended with %d and printed\n%s", code, printed)
		}
		b.Want(`"token-b"`, "GET", "lock:theirs")

		a.Want("OK", "SET", "lock:same", "token-a", "PX", "50000") // extended, or shortened, meanwhile
		a.Want("(integer) 1", "PEXPIRE", "lock:hash", "1000")
		a.Want("(integer) 1", "DEL", "lock:theirs")
		code, printed = importInto(t, old, redfence)
		if code != 0 || !strings.Contains(printed, "copied 0, already there 2") {
			t.Errorf("import ended with %d and printed\n%s", code, printed)
		}
		for key, least := range map[string]int64{"lock:same": 40_000, "lock:hash": 20_000} {
			if left := b.Int("PTTL", key); left < least {
				t.Errorf("%s has %d ms left, expected at least %s", key, left, strconv.FormatInt(least, 10))
			}
		}
	})
}

func TestImportSaysWhatIsWrong(t *testing.T) {
	tests := map[string]struct {
		args []string
		code int
		want string
	}{
		"no source":             {[]string{"--lock-keys", "*"}, 2, "--from is missing"},
		"no patterns":           {[]string{"--from", "redis://127.0.0.1:1"}, 2, "--lock-keys is missing"},
		"a source that is none": {[]string{"--from", "http://:secret@x", "--lock-keys", "*"}, 2, "redis://host:port"},
		"nobody there":          {[]string{"--from", "redis://:secret@127.0.0.1:1", "--lock-keys", "*"}, 1, "127.0.0.1:1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			code, printed := harness.RunRedfence(t, append([]string{"import"}, tt.args...)...)
			if code != tt.code || !strings.Contains(printed, tt.want) || strings.Contains(printed, "secret") {
				t.Errorf("exit code %d, printed %s", code, printed)
			}
		})
	}
}
