package integration

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/integration/harness"
	"github.com/redfence/redfence/integration/matrix"
)

// What Sentinels answer to StackExchange.Redis.
const (
	helloOfSentinel3 = `\{"server": "[a-z]+", "version": "\d+\.\d+\.\d+", "proto": \(integer\) 3, .*"mode": "sentinel".*\}`
	helloOfSentinel2 = `\["server", "[a-z]+", "version", "\d+\.\d+\.\d+", "proto", \(integer\) 2, .*"mode", "sentinel".*\]`
	mastersOnce      = `\[[\[{]"name"[,:] "mymaster", .*"flags"[,:] "master", .*[\]}]\]`
	infoOfSentinel   = `(\(verbatim\) )?".*\\r\\nredis_mode:sentinel\\r\\n.*"`
	infoEmpty        = `\(verbatim\) "txt:"|""`
)

// stackExchangeSentinel is what StackExchange.Redis sends first to a Sentinel, without waiting: only what its map of commands
// has for Sentinels, in which there is no CLIENT and no ECHO. The tracer is PING then.
func stackExchangeSentinel(hello line, more ...line) []line {
	return append([]line{
		hello,
		says(mastersOnce, "SENTINEL", "MASTERS"),
		says(infoEmpty, "INFO", "replication"),
		says(infoOfSentinel, "INFO", "server"),
		says("PONG", "PING"),
	}, more...)
}

// TestNamedMasterServesStackExchangeRedis plays StackExchange.Redis that is told of Sentinels and a service name: it listens for
// another master, asks where the master and its replicas are, and takes who says of itself that it is the master.
func TestNamedMasterServesStackExchangeRedis(t *testing.T) {
	for backend, start := range facesOn {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			mark(t, "stackexchange-redis", backend, matrix.Sentinels)
			faces := start(t)
			faces.Named()
			t.Run("resp3", func(t *testing.T) {
				sentinel := harness.Dial(t, faces.Sentinels[0])
				converse(t, sentinel, stackExchangeSentinel(says(helloOfSentinel3, "HELLO", "3"),
					says(`>\["subscribe", "\+switch-master", \(integer\) 1\]`, "SUBSCRIBE", "+switch-master"),
					says(`>\["subscribe", "\+sentinel", \(integer\) 2\]`, "SUBSCRIBE", "+sentinel"))...)
				stackExchangeFollows(t, sentinel, says(hello3, "HELLO", "3"))
			})
			t.Run("resp2", func(t *testing.T) {
				sentinel, subscriber := harness.Dial(t, faces.Sentinels[0]), harness.Dial(t, faces.Sentinels[0])
				converse(t, sentinel, stackExchangeSentinel(says(helloOfSentinel2, "HELLO", "2"))...)
				converse(t, subscriber, says(helloOfSentinel2, "HELLO", "2"), says("PONG", "PING"),
					says(`\["subscribe", "\+switch-master", \(integer\) 1\]`, "SUBSCRIBE", "+switch-master"),
					says(`\["subscribe", "\+sentinel", \(integer\) 2\]`, "SUBSCRIBE", "+sentinel"))
				stackExchangeFollows(t, sentinel, says(hello2, "HELLO", "2"))
			})
		})
	}
}

// stackExchangeFollows finds the master by a Sentinel, and locks there.
func stackExchangeFollows(t *testing.T, sentinel *harness.Conn, hello line) {
	t.Helper()
	named := sentinel.Do("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster")
	require.Len(t, named.Elems, 2)
	converse(t, sentinel, says(`\[\]`, "SENTINEL", "REPLICAS", "mymaster"))
	addr := net.JoinHostPort(named.Elems[0].Text, named.Elems[1].Text)
	conn := harness.Dial(t, addr)
	converse(t, conn, stackExchangeConfigure(hello)...)
	converse(t, conn, says(`\["master", \(integer\) \d+, \[\]\]`, "ROLE"))
	converse(t, sentinel, says(`\[.*"flags"[,:] "sentinel".*\]`, "SENTINEL", "SENTINELS", "mymaster"))
	t.Run("locks", func(t *testing.T) { stackExchangeLocks(t, conn, addr) })
}
