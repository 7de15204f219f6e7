package integration

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/redfence/redfence/integration/harness"
)

// The scripts of redlock-rb, in words of our own. What takes a lock answers nothing when it does not, and so does what tells
// of a lock that nobody holds, in its first element.
const (
	redlockRbLock = `if (redis.call("exists", KEYS[1]) == 0 and ARGV[3] == "yes") or redis.call("get", KEYS[1]) == ARGV[1] then
		return redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2])
	end`
	redlockRbUnlock = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end
	return 0`
	redlockRbLeft = `return {redis.call("get", KEYS[1]), redis.call("pttl", KEYS[1])}`
)

// rubyClient opens a connection as redis-client of Ruby does, which waits for all of it at once.
func rubyClient(t *testing.T, server string) *harness.Conn {
	t.Helper()
	conn := harness.Dial(t, server)
	converse(t, conn,
		says(hello3, "HELLO", "3"),
		says(okOrUnknown, "CLIENT", "SETINFO", "LIB-NAME", "redis-client(redlock-rb)"),
		says(okOrUnknown, "CLIENT", "SETINFO", "LIB-VER", "0.26.0"))
	return conn
}

// evaluatesLoaded is how redlock-rb runs a script: by its digest, and when the server does not know that it loads all three.
func evaluatesLoaded(t *testing.T, conn *harness.Conn, want, script string, args ...string) {
	t.Helper()
	call := append([]string{"EVALSHA", sha1Of(script), "1"}, args...)
	reply := conn.Do(call...)
	if reply.IsError() {
		assert.Regexp(t, noScript, reply.String())
		for _, s := range []string{redlockRbUnlock, redlockRbLock, redlockRbLeft} {
			converse(t, conn, says(`"`+sha1Of(s)+`"`, "SCRIPT", "LOAD", s))
		}
		reply = conn.Do(call...)
	}
	assert.Regexp(t, says(want).want, reply.String(), "script on %q", args)
}

// TestClientLocksOfRedlockRb plays redlock-rb 2 over one server: two owners, an extension with and without the right to take the
// lock anew, what is left of it, and a release after the server has forgotten the scripts.
func TestClientLocksOfRedlockRb(t *testing.T) {
	server := startServer(t)
	exercises(t, "redlock-rb")
	mine, other := rubyClient(t, server), rubyClient(t, server)
	const key, me, you = "payment", "3d0e6a1c-0001", "3d0e6a1c-0002"
	t.Run("acquire-release", func(t *testing.T) {
		evaluatesLoaded(t, mine, "OK", redlockRbLock, key, me, "30000", "yes")
		evaluatesLoaded(t, other, nothing, redlockRbLock, key, you, "30000", "yes")
		evaluatesLoaded(t, other, isNot, redlockRbUnlock, key, you)
		evaluatesLoaded(t, mine, isTrue, redlockRbUnlock, key, me)
		evaluatesLoaded(t, mine, isNot, redlockRbUnlock, key, me)
		evaluatesLoaded(t, other, "OK", redlockRbLock, key, you, "30000", "yes")
		evaluatesLoaded(t, other, isTrue, redlockRbUnlock, key, you)
	})
	t.Run("extend", func(t *testing.T) {
		evaluatesLoaded(t, mine, nothing, redlockRbLock, key, me, "30000", "no")
		evaluatesLoaded(t, mine, "OK", redlockRbLock, key, me, "10000", "yes")
		evaluatesLoaded(t, mine, "OK", redlockRbLock, key, me, "60000", "no")
		evaluatesLoaded(t, mine, `\["`+me+`", \(integer\) (60000|5\d{4})\]`, redlockRbLeft, key)
		evaluatesLoaded(t, other, nothing, redlockRbLock, key, you, "60000", "no")
	})
	t.Run("script-flush", func(t *testing.T) {
		converse(t, other, says("OK", "SCRIPT", "FLUSH"))
		evaluatesLoaded(t, mine, isTrue, redlockRbUnlock, key, me)
		evaluatesLoaded(t, mine, `\[\(nil\), \(integer\) -2\]|\[\(null\), \(integer\) -2\]`, redlockRbLeft, key)
	})
	t.Run("expiry", func(t *testing.T) {
		evaluatesLoaded(t, mine, "OK", redlockRbLock, key, me, "300", "yes")
		harness.Eventually(t, clusterPatience, func() bool {
			return other.Do("EVALSHA", sha1Of(redlockRbLock), "1", key, you, "30000", "yes").String() == "OK"
		})
		evaluatesLoaded(t, mine, isNot, redlockRbUnlock, key, me)
		evaluatesLoaded(t, other, isTrue, redlockRbUnlock, key, you)
	})
}
