package integration

import (
	"crypto/sha1"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/integration/harness"
)

// Clients that the tests do not run are played from what they send: StackExchange.Redis 3 (under RedLock.net and
// DistributedLock), and a later RedisLockRegistry of Spring Integration than runs here. A client sends a batch without waiting,
// and takes the replies by their order alone: one that is missing, or comes twice, leaves its connection unusable.

// line is a command that a client sends, and the replies with which it goes on.
type line struct {
	want *regexp.Regexp // matches the whole reply, as harness.Reply.String shows it
	args []string
}

func says(want string, args ...string) line {
	return line{want: regexp.MustCompile(`(?s)^(?:` + want + `)$`), args: args}
}

// converse sends a batch in one write and compares the replies.
func converse(t *testing.T, conn *harness.Conn, batch ...line) {
	t.Helper()
	var bytes []byte
	for _, l := range batch {
		bytes = append(bytes, harness.Encode(l.args...)...)
	}
	conn.SendRaw(bytes)
	for _, l := range batch {
		assert.Regexp(t, l.want, conn.Receive().String(), "%q", l.args)
	}
}

// Replies with which the clients go on. What Redis 7.0 does not know yet may be an error.
const (
	anInteger   = `\(integer\) \d+`
	okOrUnknown = `OK|\(error\) ERR unknown (sub)?command .*`
	hello3      = `\{"server": "[a-z]+", "version": "\d+\.\d+\.\d+", "proto": \(integer\) 3, ` +
		`"id": \(integer\) \d+, "mode": "standalone", "role": "master", "modules": \[\]\}`
	hello2 = `\["server", "[a-z]+", "version", "\d+\.\d+\.\d+", "proto", \(integer\) 2, ` +
		`"id", \(integer\) \d+, "mode", "standalone", "role", "master", "modules", \[\]\]`
	setting      = `\[("[a-z-]+", "[^"]*")?\]|\{("[a-z-]+": "[^"]*")?\}`
	noCluster    = `\(error\) ERR This instance has cluster support disabled`
	nothing      = `\(nil\)|\(null\)`
	noScript     = `\(error\) NOSCRIPT No matching script\. Please use EVAL\.`
	infoOfMaster = `(\(verbatim\) )?".*\\r\\nrole:master\\r\\n.*"`
	infoVersion  = `(\(verbatim\) )?".*\\r\\nredis_version:\d+\.\d+\.\d+\\r\\n.*"`
)

// stackExchange is what StackExchange.Redis sends first on each connection, the whole of it without waiting.
func stackExchange(hello line, more ...line) []line {
	return append([]line{
		hello,
		says("OK", "CLIENT", "SETNAME", "host(SE.Redis-v3.0.0)"),
		says(okOrUnknown, "CLIENT", "SETINFO", "lib-name", "SE.Redis"),
		says(okOrUnknown, "CLIENT", "SETINFO", "lib-ver", "3.0.0"),
		says(anInteger, "CLIENT", "ID"),
	}, more...)
}

// stackExchangeConfigure is how it then finds out what the server can do. Its tracer, 16 arbitrary bytes, must come
// back as they are, after all else.
func stackExchangeConfigure(hello line) []line {
	const tracer = "\x00\xff\r\n$-1\r\n*\x80\xfe\x01~\""
	return stackExchange(hello,
		says(setting, "CONFIG", "GET", "timeout"),
		says(setting, "CONFIG", "GET", "replica-read-only"),
		says(setting, "CONFIG", "GET", "databases"),
		says(infoOfMaster, "INFO", "replication"),
		says(infoVersion, "INFO", "server"),
		says(noCluster, "CLUSTER", "NODES"),
		says(nothing, "GET", "__Booksleeve_TieBreak"),
		says(regexp.QuoteMeta(strconv.Quote(tracer)), "ECHO", tracer),
	)
}

func TestClientHandshakeOfStackExchangeRedis(t *testing.T) {
	server := startServer(t)
	exercises(t, "stackexchange-redis")
	t.Run("resp3", func(t *testing.T) {
		conn := harness.Dial(t, server)
		converse(t, conn, stackExchangeConfigure(says(hello3, "HELLO", "3"))...)
		converse(t, conn, says(`>\["subscribe", "__Booksleeve_MasterChanged", \(integer\) 1\]`, "SUBSCRIBE", "__Booksleeve_MasterChanged"))
		converse(t, conn, says("PONG", "PING"), says(infoOfMaster, "INFO", "replication"))
		t.Run("locks", func(t *testing.T) { stackExchangeLocks(t, conn, server) })
	})
	t.Run("resp2", func(t *testing.T) {
		conn, subscriber := harness.Dial(t, server), harness.Dial(t, server)
		converse(t, conn, stackExchangeConfigure(says(hello2, "HELLO", "2"))...)
		converse(t, subscriber, stackExchange(says(hello2, "HELLO", "2"),
			says(`"0123456789abcdef"`, "ECHO", "0123456789abcdef"),
			says(`\["subscribe", "__Booksleeve_MasterChanged", \(integer\) 1\]`, "SUBSCRIBE", "__Booksleeve_MasterChanged"),
			says(`\["pong", ""\]`, "PING"))...)
		t.Run("locks", func(t *testing.T) { stackExchangeLocks(t, conn, server) })
	})
}

// stackExchangeLocks plays LockTake, LockQuery, LockExtend and LockRelease. From 8.4 on it extends and releases with
// SET IFEQ and DELEX, before by a transaction; the version that the server announces decides.
func stackExchangeLocks(t *testing.T, conn *harness.Conn, server string) {
	t.Helper()
	const key, mine, other = "se:lock", "host:1234", "host:5678"
	converse(t, conn,
		says("OK", "SET", key, mine, "EX", "30", "NX"),
		says(nothing, "SET", key, other, "PX", "30500", "NX"),
		says(`"host:1234"`, "GET", key))
	if announcesAtLeast(t, server, 8, 4) {
		converse(t, conn,
			says(nothing, "SET", key, other, "EX", "60", "IFEQ", other),
			says("OK", "SET", key, mine, "EX", "60", "IFEQ", mine),
			says(`\(integer\) (59|60)`, "TTL", key),
			says(`\(integer\) 0`, "DELEX", key, "IFEQ", other),
			says(`\(integer\) 1`, "DELEX", key, "IFEQ", mine))
		return
	}
	converse(t, conn, says("OK", "WATCH", key), says(`"host:1234"`, "GET", key))
	converse(t, conn, says("OK", "UNWATCH")) // whoever is not the owner
	converse(t, conn, says("OK", "WATCH", key), says(`"host:1234"`, "GET", key))
	converse(t, conn, says("OK", "MULTI"), says("QUEUED", "EXPIRE", key, "60"), says(`\[\(integer\) 1\]`, "EXEC"))
	converse(t, conn, says("OK", "WATCH", key), says(`"host:1234"`, "GET", key))
	harness.Dial(t, server).Want("OK", "SET", key, other, "PX", "30000")
	converse(t, conn, says("OK", "MULTI"), says("QUEUED", "DEL", key), says(`\(nil array\)|\(null\)`, "EXEC"))
	converse(t, conn, says("OK", "WATCH", key), says(`"host:5678"`, "GET", key),
		says("OK", "MULTI"), says("QUEUED", "DEL", key), says(`\[\(integer\) 1\]`, "EXEC"))
}

// announcesAtLeast tells whether the server says that it is of this version, or a later one.
func announcesAtLeast(t *testing.T, server string, major, minor int) bool {
	t.Helper()
	info := harness.Dial(t, server).Do("INFO", "server").Text
	version := regexp.MustCompile(`redis_version:(\d+)\.(\d+)`).FindStringSubmatch(info)
	require.NotNil(t, version, "INFO server: %q", info)
	announcedMajor, _ := strconv.Atoi(version[1])
	announcedMinor, _ := strconv.Atoi(version[2])
	return announcedMajor > major || announcedMajor == major && announcedMinor >= minor
}

// TestClientScriptsOfStackExchangeRedis plays RedLock.net: the first use of a script on a connection is SCRIPT LOAD with
// EVALSHA right behind it, and the reply to the second depends on the first.
func TestClientScriptsOfStackExchangeRedis(t *testing.T) {
	conn := harness.Dial(t, startServer(t))
	exercises(t, "stackexchange-redis")
	converse(t, conn, stackExchangeConfigure(says(hello3, "HELLO", "3"))...)
	extend := `local held = redis.call('GET', KEYS[1])
		if not held then
			if redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) then return 1 else return 0 end
		elseif held == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2])
		else return -1 end`
	sha := sha1Of(extend)
	converse(t, conn,
		says("OK", "SET", "redlock:job", "me", "NX", "PX", "30000"),
		says(`"`+sha+`"`, "SCRIPT", "LOAD", extend),
		says(`\(integer\) 1`, "EVALSHA", sha, "1", "redlock:job", "me", "60000"),
		says(`\(integer\) -1`, "EVALSHA", sha, "1", "redlock:job", "you", "60000"))
	converse(t, conn,
		says("OK", "SELECT", "3"),
		says(`\(integer\) 1`, "EVALSHA", sha, "1", "redlock:job", "you", "60000"),
		says("OK", "SELECT", "0"),
		says(`"me"`, "GET", "redlock:job"),
		says("OK", "SCRIPT", "FLUSH"),
		says(noScript, "EVALSHA", sha, "1", "redlock:job", "me", "60000"))
}

func sha1Of(script string) string {
	sum := sha1.Sum([]byte(script))
	return hex.EncodeToString(sum[:])
}

// lettuce opens a connection as Lettuce does: it waits for HELLO, and sends the rest without waiting.
func lettuce(t *testing.T, server string) *harness.Conn {
	t.Helper()
	conn := harness.Dial(t, server)
	converse(t, conn, says(hello3, "HELLO", "3"))
	converse(t, conn,
		says(okOrUnknown, "CLIENT", "SETINFO", "lib-name", "Lettuce"),
		says(okOrUnknown, "CLIENT", "SETINFO", "lib-ver", "7.0.0.RELEASE/abcdef0"),
		says(okOrUnknown, "CLIENT", "MAINT_NOTIFICATIONS", "on", "moving-endpoint-type", "internal-ip"))
	return conn
}

func TestClientHandshakeOfLettuce(t *testing.T) {
	server := startServer(t)
	conn := lettuce(t, server)
	converse(t, conn, says("PONG", "PING"), says("OK", "SELECT", "2"), says("OK", "SELECT", "0"))
	old := harness.Dial(t, server)
	converse(t, old, says("PONG", "PING")) // with RESP2 there is no HELLO
	converse(t, old, says("OK", "CLIENT", "SETNAME", "spring"), says(`"spring"`, "CLIENT", "GETNAME"))
}

// The scripts that Spring's RedisLockRegistry takes and frees a lock with, in words of our own.
const (
	springObtain = `local owner = redis.call('GET', KEYS[1])
		if owner == ARGV[1] then
			redis.call('PEXPIRE', KEYS[1], ARGV[2])
			return true
		elseif not owner then
			redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
			return true
		end
		return false`
	springRenew = `if redis.call('GET', KEYS[1]) == ARGV[1] then
			redis.call('PEXPIRE', KEYS[1], ARGV[2])
			return true
		end
		return false`
	springUnlock = `if redis.call('GET', KEYS[1]) == ARGV[1] then
			redis.call('UNLINK', KEYS[1])
			redis.call('PUBLISH', ARGV[2], KEYS[1])
			return true
		end
		return false`
)

// evaluates is how Spring runs a script: by its digest, and by its text when the server does not know it.
func evaluates(t *testing.T, conn *harness.Conn, want, script string, args ...string) {
	t.Helper()
	tail := append([]string{"1"}, args...)
	reply := conn.Do(append([]string{"EVALSHA", sha1Of(script)}, tail...)...)
	if strings.Contains(reply.Text, "NOSCRIPT") {
		assert.Regexp(t, noScript, reply.String())
		reply = conn.Do(append([]string{"EVAL", script}, tail...)...)
	}
	assert.Regexp(t, `^(?:`+want+`)$`, reply.String(), "script on %q", args)
}

const (
	isTrue = `\(integer\) 1`
	isNot  = `\(integer\) 0`
)

// TestClientLocksOfSpring plays RedisLockRegistry: two owners, one of whom waits by PSUBSCRIBE on another connection.
func TestClientLocksOfSpring(t *testing.T) {
	server := startServer(t)
	mine, other, waiter := lettuce(t, server), lettuce(t, server), lettuce(t, server)
	const key, me, you, channel = "registry:job", "5c2e7c1c-0001", "5c2e7c1c-0002", "registry-channel:registry:job"
	converse(t, waiter, says(`>\["psubscribe", "registry-channel:\*", \(integer\) 1\]`, "PSUBSCRIBE", "registry-channel:*"))

	evaluates(t, mine, isTrue, springObtain, key, me, "30000")
	evaluates(t, other, nothing, springObtain, key, you, "30000")
	evaluates(t, mine, isTrue, springObtain, key, me, "60000")
	assert.Greater(t, mine.Int("PTTL", key), int64(50_000), "TTL after obtaining again")

	springRenews(t, mine, key, me, you)
	evaluates(t, other, nothing, springUnlock, key, you, channel)
	evaluates(t, mine, isTrue, springUnlock, key, me, channel)
	assert.Equal(t, `>["pmessage", "registry-channel:*", "`+channel+`", "`+key+`"]`, waiter.Receive().String())

	evaluates(t, other, isTrue, springObtain, key, you, "30000")
	springDeletes(t, other, key, you, me)
	assert.Zero(t, other.Int("EXISTS", key))
}

// springRenews extends a lock with SET IFEQ, and by a script for good when the error is one of two that it knows.
func springRenews(t *testing.T, conn *harness.Conn, key, owner, stranger string) {
	t.Helper()
	reply := conn.Do("SET", key, owner, "PX", "120000", "IFEQ", owner)
	if fallsBack(t, reply) {
		evaluates(t, conn, nothing, springRenew, key, stranger, "999000")
		evaluates(t, conn, isTrue, springRenew, key, owner, "120000")
	} else {
		assert.Equal(t, "OK", reply.String())
		converse(t, conn, says(nothing, "SET", key, stranger, "PX", "999000", "IFEQ", stranger))
	}
	converse(t, conn, says(strconv.Quote(owner), "GET", key))
	left := conn.Int("PTTL", key)
	assert.Greater(t, left, int64(110_000), "TTL after renewing")
	assert.LessOrEqual(t, left, int64(120_000), "TTL after renewing")
}

// springDeletes frees a lock with DELEX IFEQ, and by a script when the error is one of two that it knows.
func springDeletes(t *testing.T, conn *harness.Conn, key, owner, stranger string) {
	t.Helper()
	reply := conn.Do("DELEX", key, "IFEQ", stranger)
	if fallsBack(t, reply) {
		evaluates(t, conn, isTrue, springUnlock, key, owner, "registry-channel:"+key)
		return
	}
	assert.Equal(t, "(integer) 0", reply.String())
	converse(t, conn, says(`\(integer\) 1`, "DELEX", key, "IFEQ", owner))
}

// fallsBack tells whether Spring goes over to scripts; with any other error it gives up.
func fallsBack(t *testing.T, reply harness.Reply) bool {
	t.Helper()
	if !reply.IsError() {
		return false
	}
	assert.Regexp(t, `ERR syntax error|ERR unknown command`, reply.Text)
	return true
}

// TestClientHandshakesWithPassword plays what both send when they have a password, and what an old password comes to:
// every command behind it is refused in its turn.
func TestClientHandshakesWithPassword(t *testing.T) {
	const password = "open sesame"
	server := startServerWithPassword(t, password)
	const tracer = "0123456789abcdef"
	converse(t, harness.Dial(t, server), append([]line{says("OK", "AUTH", password)},
		stackExchange(says(hello3, "HELLO", "3"), says(strconv.Quote(tracer), "ECHO", tracer))...)...)
	converse(t, harness.Dial(t, server), says(hello3, "HELLO", "3", "AUTH", "default", password, "SETNAME", "spring"),
		says(`"spring"`, "CLIENT", "GETNAME"))
	const refused = `\(error\) NOAUTH Authentication required\.`
	converse(t, harness.Dial(t, server),
		says(`\(error\) WRONGPASS .*`, "AUTH", "an old one"),
		says(`\(error\) NOAUTH HELLO must be called with the client already authenticated.*`, "HELLO", "3"),
		says(refused, "CLIENT", "SETNAME", "host"),
		says(refused, "INFO", "replication"),
		says(refused, "ECHO", tracer))
	converse(t, harness.Dial(t, server), says(`\(error\) WRONGPASS .*`, "HELLO", "3", "AUTH", "default", "an old one"))
}

func startServerWithPassword(t *testing.T, password string) string {
	t.Helper()
	if onRedis() {
		return harness.StartRedis(t, "--requirepass", password).Addr
	}
	return harness.StartRedfence(t, "--password", password).Addr
}

// TestPatternsOfHandshakes shows that a pattern covers a whole reply, not a part of it.
func TestPatternsOfHandshakes(t *testing.T) {
	const hello = `{"server": "redis", "version": "7.0.15", "proto": (integer) 3, "id": (integer) 9, ` +
		`"mode": "standalone", "role": "master", "modules": []}`
	assert.Regexp(t, says(hello3).want, hello)
	assert.NotRegexp(t, says(hello3).want, strings.Replace(hello, `"id": (integer) 9, `, "", 1))
	assert.NotRegexp(t, says(anInteger).want, "(integer) 12a")
	assert.NotRegexp(t, says(nothing).want, "[(nil)]")
	assert.NotRegexp(t, says(okOrUnknown).want, "(error) ERR syntax error")
}
