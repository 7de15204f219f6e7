package proxy

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/commands/resp"
)

// Unfinished requests count while they are unfinished, over all connections; small ones always find room.
func TestUnfinishedRequestsHaveABudget(t *testing.T) {
	const limit = 256 << 10
	srv, addr := start(t, Config{Limits: Limits{MaxInput: limit, MaxBulk: 200 << 10}})
	half := "*2\r\n$4\r\nECHO\r\n$200000\r\n" + strings.Repeat("x", 190_000)
	first := dial(t, addr)
	first.send(half)
	require.Eventually(t, func() bool { return srv.input.used.Load() > 170_000 }, patience, time.Millisecond)

	second := dial(t, addr)
	second.send(half)
	require.Equal(t, "-"+string(resp.MaxInput(limit)), second.next())
	require.Empty(t, second.rest())

	small := dial(t, addr)
	require.Equal(t, "$10000 "+strings.Repeat("y", 10_000), small.do("ECHO "+strings.Repeat("y", 10_000)))

	first.send(strings.Repeat("x", 10_000) + "\r\n")
	require.Equal(t, "$200000 "+strings.Repeat("x", 200_000), first.next())
	require.Eventually(t, func() bool { return srv.input.used.Load() == 0 }, patience, time.Millisecond)

	third := dial(t, addr)
	third.send(half)
	require.Eventually(t, func() bool { return srv.input.used.Load() > 170_000 }, patience, time.Millisecond)
	require.NoError(t, third.Close())
	require.Eventually(t, func() bool { return srv.input.used.Load() == 0 }, patience, time.Millisecond)
}

// What MULTI has queued is unfinished too.
func TestQueuedCommandsAreUnfinished(t *testing.T) {
	const limit = 64 << 10
	srv, addr := start(t, Config{Limits: Limits{MaxInput: limit, MaxBulk: 1 << 20}})
	c := dial(t, addr)
	require.Equal(t, "+OK", c.do("MULTI"))
	reply := "+QUEUED"
	for n := 0; reply == "+QUEUED" && n < 100; n++ {
		reply = c.do("SET k " + strings.Repeat("x", 4_000))
	}
	require.Equal(t, "-"+string(resp.MaxInput(limit)), reply)
	require.Empty(t, c.rest())
	require.Eventually(t, func() bool { return srv.input.used.Load() == 0 }, patience, time.Millisecond)
}

// Who stops inside a large request does not keep the room of others for ever; an idle client and a small unfinished request
// take none.
func TestStalledRequestsGiveTheirRoomBack(t *testing.T) {
	srv, addr := start(t, Config{Limits: Limits{InputTimeout: 50 * time.Millisecond}})
	idle, small := dial(t, addr), dial(t, addr)
	require.Equal(t, "+PONG", idle.do("PING"))
	small.send("*2\r\n$4\r\nECHO\r\n$5\r\nab")
	for name, unfinished := range map[string]string{
		"large argument": "*2\r\n$4\r\nECHO\r\n$200000\r\n" + strings.Repeat("x", 100_000),
		"large MULTI":    "MULTI\r\n" + strings.Repeat("SET k "+strings.Repeat("x", 4_000)+"\r\n", 20),
	} {
		t.Run(name, func(t *testing.T) {
			stalled := dial(t, addr)
			stalled.send(unfinished)
			stalled.rest() // up to the end of the connection
			require.Eventually(t, func() bool { return srv.input.used.Load() == 0 }, patience, time.Millisecond)
		})
	}
	require.Equal(t, "+PONG", idle.do("PING"))
	small.send("cde\r\n")
	require.Equal(t, "$5 abcde", small.next())
}
