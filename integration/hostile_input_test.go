package integration

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
)

const (
	// probeFigures is how many commands of the well-behaved client make up one
	// measurement; an attack goes on until they are there.
	probeFigures = 300
	// goroutinesSpare is how many more goroutines than before an attack may be
	// left: those of the runtime and of HTTP come and go.
	goroutinesSpare = 20
	// attackTimeout bounds every wait of an attack.
	attackTimeout = 60 * time.Second
)

// attack misuses a server until enough is closed, and says what was wrong with
// the answers.
type attack func(s *harness.Server, enough <-chan struct{}) error

// attacks in the order of the table run one after the other on one server. What
// ends with an error text is sent by two attackers over and over.
var attacks = []struct {
	name string
	run  attack
}{
	{"2 GiB bulk header", refused("*2\r\n$3\r\nGET\r\n$2147483647\r\n", "ERR Protocol error: invalid bulk length")},
	{"2 GiB bulk header with bytes behind it", refused("*1\r\n$2147483648\r\n"+strings.Repeat("x", 1<<20),
		"ERR Protocol error: invalid bulk length")},
	{"negative bulk header", refused("*1\r\n$-5\r\n", "ERR Protocol error: invalid bulk length")},
	{"10 million arguments", refused("*10000000\r\n$4\r\nPING\r\n", "ERR Protocol error: invalid multibulk length")},
	{"more arguments than a number holds", refused("*99999999999999999999\r\n", "ERR Protocol error: invalid multibulk length")},
	{"nested arrays", refused(strings.Repeat("*1\r\n", 100_000), "ERR Protocol error: expected '$', got '*'")},
	{"huge inline line", refused(strings.Repeat("x", 1<<20), "ERR Protocol error: too big inline request")},
	{"huge line with a length", refused("*"+strings.Repeat("1", 1<<20), "ERR Protocol error: too big mbulk count string")},
	{"unbalanced quotes", refused("SET k \"v\r\n", "ERR Protocol error: unbalanced quotes in request")},
	{"unbalanced quotes behind good commands", refused("PING\r\nSET k 'v\r\nFLUSHALL\r\n", "PONG",
		"ERR Protocol error: unbalanced quotes in request")},
	{"as many arguments as there may be", manyArguments},
	{"random bytes", repeated(randomBytes)},
	{"half-closed sockets", repeated(halfClosed)},
	{"half a command and a hang-up", repeated(halfACommand)},
	{"connection churn", repeated(churnConnections)},
	{"slow loris", slowLoris},
	{"a subscriber that never reads", deafSubscriber},
	{"a pipeliner that never reads", deafPipeliner},
	{"idle connections", idleConnections},
}

// TestHostileInput attacks the real program in many ways. Each attack gets a
// clear error or a cut, the memory stays small, another client goes on working
// at a speed that is compared with that of an idle server at the same time, and
// nothing is left open.
func TestHostileInput(t *testing.T) {
	raiseDescriptorLimit(t)
	s := harness.StartRedfenceWith(t, harness.Options{NoRace: true, Args: []string{
		"--http-listen", "127.0.0.1:0", "--max-clients", fmt.Sprint(maxIdle + spareClients),
	}})
	c := besideIdle(t, s)
	before := openResources(t, s)
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			s.ResetPeak()
			c.during(t, func(enough <-chan struct{}) error { return a.run(s, enough) })
			t.Logf("memory up to %d MiB", s.PeakRSS()>>20)
			if peak := s.PeakRSS(); peak > hostileMemory {
				t.Errorf("memory reached %d MiB", peak>>20)
			}
			wantNothingLeftOpen(t, s, before)
		})
	}
	if code := s.Stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func await(t *testing.T, done <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(attackTimeout):
		t.Fatalf("%s did not come within %v", what, attackTimeout)
	}
}

func wantNothingLeftOpen(t *testing.T, s *harness.Server, before resources) {
	t.Helper()
	var now resources
	if !harness.Poll(attackTimeout, func() bool {
		now = openResources(t, s)
		return now.clients <= before.clients && now.descriptors <= before.descriptors &&
			now.goroutines <= before.goroutines+goroutinesSpare
	}) {
		t.Errorf("left open: %+v, before %+v", now, before)
	}
}

// repeated runs one attacker's work on two goroutines until enough is closed,
// and at least once.
func repeated(once func(addr string, seed uint64) error) attack {
	return func(s *harness.Server, enough <-chan struct{}) error {
		const attackers = 2
		var failures [attackers]error
		var all sync.WaitGroup
		for i := range attackers {
			all.Go(func() {
				for seed := uint64(i); failures[i] == nil; seed += attackers {
					failures[i] = once(s.Addr, seed)
					if closed(enough) {
						return
					}
				}
			})
		}
		all.Wait()
		return errors.Join(failures[:]...)
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// refused sends bytes and wants exactly these replies, and then the end of the
// connection.
func refused(bytes string, texts ...string) attack {
	return repeated(func(addr string, _ uint64) error {
		w, err := harness.Open(addr)
		if err != nil {
			return err
		}
		defer crowd{w}.leave()
		_ = w.SendRaw([]byte(bytes)) // the server may have hung up before the last byte
		for _, want := range texts {
			if reply, err := w.Receive(); err != nil || reply.Text != want {
				return wrong(fmt.Sprintf("want %q", want), reply, err)
			}
		}
		return wantEnd(w)
	})
}

// wantEnd reads the end of a connection; a reset is one too.
func wantEnd(w *harness.Wire) error {
	reply, err := w.Receive()
	var late net.Error
	switch {
	case err == nil:
		return fmt.Errorf("one more reply: %s", reply)
	case errors.As(err, &late) && late.Timeout():
		return errors.New("the connection stays open")
	}
	return nil
}

// manyArguments sends the largest command that --max-args allows, once: it is
// work of half a second that nothing forbids.
func manyArguments(s *harness.Server, _ <-chan struct{}) error {
	const n = 1 << 20
	w, err := harness.Open(s.Addr)
	if err != nil {
		return err
	}
	defer crowd{w}.leave()
	command := append(fmt.Appendf(nil, "*%d\r\n$3\r\nDEL\r\n", n), bytes.Repeat([]byte("$1\r\nk\r\n"), n-1)...)
	if err := w.SendRaw(command); err != nil {
		return err
	}
	if reply, err := w.Receive(); err != nil || reply.String() != "(integer) 0" {
		return wrong("DEL", reply, err)
	}
	return nil
}

// randomBytes sends a random number of random bytes and reads what comes until
// the server hangs up.
func randomBytes(addr string, seed uint64) error {
	random := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)})
	noise := make([]byte, random.Uint64()%(64<<10))
	_, _ = random.Read(noise)
	if seed%4 != 0 { // most of it begins like RESP, so that it gets further
		noise = append([]byte("*3\r\n$3\r\nGET\r\n"), noise...)
	}
	return sendAndHangUp(addr, noise, func(error) bool { return true })
}

// halfClosed sends commands and closes its direction: they must be answered.
func halfClosed(addr string, _ uint64) error {
	var got bytes.Buffer
	if err := sayAndListen(addr, []byte("PING\r\nECHO half\r\n"), &got); err != nil {
		return err
	}
	if want := "+PONG\r\n$4\r\nhalf\r\n"; got.String() != want {
		return fmt.Errorf("answered %q, want %q", got.String(), want)
	}
	return nil
}

// halfACommand hangs up in the middle of one: nothing to answer.
func halfACommand(addr string, _ uint64) error {
	return sendAndHangUp(addr, []byte("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1000\r\nxxx"), func(err error) bool { return err == nil })
}

func sendAndHangUp(addr string, b []byte, fine func(error) bool) error {
	err := sayAndListen(addr, b, io.Discard)
	var late net.Error
	if !fine(err) || (errors.As(err, &late) && late.Timeout()) {
		return err
	}
	return nil
}

// sayAndListen sends bytes, closes its own direction and reads until the server
// hangs up.
func sayAndListen(addr string, b []byte, answers io.Writer) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(attackTimeout)); err != nil {
		return err
	}
	if _, err := conn.Write(b); err != nil {
		return err
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		return err
	}
	_, err = io.Copy(answers, conn)
	return err
}

// churnConnections connects, is served once, and leaves in turn: with nothing
// under way, subscribed, and with a reset while answers are under way.
func churnConnections(addr string, seed uint64) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	pong := make([]byte, len("+PONG\r\n"))
	_, err = conn.Write([]byte("PING\r\n"))
	if _, failed := io.ReadFull(conn, pong); failed != nil || string(pong) != "+PONG\r\n" {
		return fmt.Errorf("answered %q, error %w", pong, errors.Join(err, failed))
	}
	switch seed % 3 {
	case 1:
		_, err = conn.Write([]byte("SET churn x NX PX 600000\r\nSUBSCRIBE churn\r\n"))
	case 2:
		_, err = conn.Write(bytes.Repeat([]byte("GET churn\r\n"), 100))
		err = errors.Join(err, conn.(*net.TCPConn).SetLinger(0))
	}
	return err
}
