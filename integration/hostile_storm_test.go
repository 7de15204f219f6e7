package integration

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
)

const (
	// stormers is how many clients at once connect, send stormDepth commands,
	// and leave without a look at the replies.
	stormers   = 64
	stormDepth = 2000
	// stormSize is how many of them come in all, so that they fill the queue
	// for the log several times over.
	stormSize = 1000
	// halfSenders is how many clients send a part of the largest argument.
	halfSenders = 50
)

// Under a crowd that asks for too much another client must not be refused: the
// probe ends at the first wrong answer. How long it waits depends on the
// processors that the crowd leaves it, so that is only told.
func TestCrowdsLeaveOthersAlone(t *testing.T) {
	for name, attack := range map[string]func(*harness.Server) error{
		"a storm of pipeliners that leave": storm,
		"half-sent large arguments":        halfSent,
	} {
		t.Run(name, func(t *testing.T) {
			s := harness.StartRedfenceWith(t, harness.Options{NoRace: true, Args: []string{"--http-listen", "127.0.0.1:0"}})
			c := besideIdle(t, s)
			before := openResources(t, s)
			s.ResetPeak()
			c.during(t, func(<-chan struct{}) error { return attack(s) })
			t.Logf("memory up to %d MiB", s.PeakRSS()>>20)
			if peak := s.PeakRSS(); peak > hostileMemory {
				t.Errorf("memory reached %d MiB", peak>>20)
			}
			wantNothingLeftOpen(t, s, before)
		})
	}
}

// storm has clients come, ask for much and leave, as fast as they can.
func storm(s *harness.Server) error {
	var came atomic.Int64
	var failures [stormers]error
	var all sync.WaitGroup
	for i := range stormers {
		all.Go(func() {
			for n := 0; failures[i] == nil && came.Load() < stormSize; n++ {
				failures[i] = comeAndGo(s.Addr, pipelineOf(i), n%2 == 0)
				came.Add(1)
			}
		})
	}
	all.Wait()
	return errors.Join(failures[:]...)
}

// pipelineOf is what a stormer sends: each command takes a lock of its own, for
// a moment.
func pipelineOf(stormer int) []byte {
	var b []byte
	for i := range stormDepth {
		b = append(b, harness.Encode("SET", fmt.Sprintf("storm:%d:%d", stormer, i), "x", "PX", "100")...)
	}
	return b
}

// comeAndGo connects, sends what the server takes at once, and hangs up or
// resets the connection. A server that has had enough may do so first.
func comeAndGo(addr string, b []byte, reset bool) error {
	conn, err := net.DialTimeout("tcp", addr, attackTimeout)
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	defer conn.Close()
	if reset {
		_ = conn.(*net.TCPConn).SetLinger(0)
	}
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
	_, err = conn.Write(b)
	var late net.Error
	if errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || (errors.As(err, &late) && late.Timeout()) {
		return nil
	}
	return err
}

// halfSent has many clients announce the largest argument and send a part of
// it, which together is more than the server may hold. Some must be told so; the
// others stay until then.
func halfSent(s *harness.Server) error {
	const announced, sent = 64 << 20, 16 << 20
	b := append(fmt.Appendf(nil, "*2\r\n$4\r\nECHO\r\n$%d\r\n", announced), make([]byte, sent)...)
	all, err := gather(s.Addr, halfSenders)
	defer all.leave()
	if err != nil {
		return err
	}
	cut := 0
	for _, w := range all {
		if w.SendRaw(b) == nil {
			continue
		}
		cut++
		if reply, err := w.Receive(); err == nil && !strings.Contains(reply.Text, "--max-input") {
			return wrong("an argument too many", reply, nil)
		}
	}
	if cut == 0 {
		return errors.New("no client was cut off")
	}
	return nil
}
