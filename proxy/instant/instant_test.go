package instant_test

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/proxy/instant"
)

const patience = 10 * time.Second

// pair returns both ends of a TCP connection.
func pair(t *testing.T) (ours, theirs net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	ours, err = net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	theirs, err = l.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = ours.Close(), theirs.Close() })
	return ours, theirs
}

// TestAWriteNeverWaits fills a socket that nobody reads.
func TestAWriteNeverWaits(t *testing.T) {
	ours, theirs := pair(t)
	w := instant.New(ours)
	if w == nil {
		t.Skip("this system cannot")
	}
	chunk, sent := make([]byte, 1<<20), 0
	for n := w.TryWrite(chunk); n > 0; n = w.TryWrite(chunk) {
		sent += n
	}
	require.NoError(t, theirs.SetReadDeadline(time.Now().Add(patience)))
	got, err := io.CopyN(io.Discard, theirs, int64(sent))
	require.NoError(t, err)
	require.Equal(t, int64(sent), got)
	require.NoError(t, ours.Close())
	require.Zero(t, w.TryWrite(chunk), "a closed socket")
}

func TestAWriteAllocatesNothing(t *testing.T) {
	ours, theirs := pair(t)
	w := instant.New(ours)
	if w == nil {
		t.Skip("this system cannot")
	}
	go func() { _, _ = io.Copy(io.Discard, theirs) }()
	reply := []byte("+OK\r\n")
	require.Zero(t, testing.AllocsPerRun(100, func() { w.TryWrite(reply) }))
}

// able is a connection that writes without waiting by itself.
type able struct{ net.Conn }

func (able) TryWrite(p []byte) int { return len(p) }

func TestWhoCanWriteAtOnce(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	require.Nil(t, instant.New(a), "no socket")
	require.Equal(t, able{a}, instant.New(able{a}), "a connection that can by itself")
}
