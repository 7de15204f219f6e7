package harness

import (
	"fmt"
	"testing"
	"time"
)

func TestRelayDelaysHoldsAndCuts(t *testing.T) {
	s := StartRedis(t)
	r := StartRelay(t, s.Addr)
	c := Dial(t, r.Addr)
	c.Want("PONG", "PING")

	const delay = 50 * time.Millisecond
	r.Delay(ToServer, delay)
	began := time.Now()
	c.Send("INCR", "n")
	c.Send("INCR", "n")
	for _, want := range []string{"(integer) 1", "(integer) 2"} {
		if got := c.Receive().String(); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
	if took := time.Since(began); took < delay {
		t.Fatalf("delayed by %v, want %v", took, delay)
	}
	r.Delay(ToServer, 0)

	direct := Dial(t, s.Addr)
	r.Hold(ToClient)
	c.Send("INCR", "n")
	Eventually(t, ReplyTimeout, func() bool { return direct.Do("GET", "n").Text == "3" })
	if !c.Silent(20 * time.Millisecond) {
		t.Fatal("an answer came through")
	}
	r.Release(ToClient)
	if got := c.Receive().String(); got != "(integer) 3" {
		t.Fatalf("kept back was %s", got)
	}

	r.Hold(ToServer)
	c.Send("INCR", "n")
	r.Cut()
	r.Release(ToServer)
	if _, err := c.Wire.Receive(); err == nil {
		t.Fatal("a connection was answered that was cut")
	}
	Dial(t, r.Addr).Want(`"3"`, "GET", "n")
}

// TestRelayHoldsApart holds one client's connection and not another's.
func TestRelayHoldsApart(t *testing.T) {
	s := StartRedis(t)
	r := startRelay(t, s.Addr, greeted)
	greeting := func(id string) string { return fmt.Sprintf("R\x01\x01c%c%s\x01b", len(id), id) }
	open := func(id string) *Conn {
		c := Dial(t, r.Addr)
		c.SendRaw([]byte(greeting(id) + "\r\n")) // an error to a Redis
		c.Receive()
		return c
	}
	one, other := open("node1-a"), open("node2-b")
	for _, d := range []Direction{ToServer, ToClient} {
		r.HoldApart("node1", d)
		one.Send("PING")
		other.Want("PONG", "PING")
		if !one.Silent(20 * time.Millisecond) {
			t.Fatal("an answer came through")
		}
		r.ReleaseApart()
		if got := one.Receive().String(); got != "PONG" {
			t.Fatalf("kept back was %s", got)
		}
	}
	for n := range len(greeting("node1-a")) - 3 {
		if got := greeted([]byte(greeting("node1-a")[:n])); got != "" {
			t.Fatalf("the first %d bytes name %q", n, got)
		}
	}
}

func TestSteppedClock(t *testing.T) {
	s, clock := StartSteppedRedis(t)
	c := Dial(t, s.Addr)
	for _, offset := range []time.Duration{0, time.Hour, -time.Hour} {
		clock.Step(offset)
		if off := c.Int("EVAL", "return tonumber(redis.call('TIME')[1])", "0") - time.Now().Add(offset).Unix(); off < -2 || off > 2 {
			t.Fatalf("stepped by %v: TIME is %d s off", offset, off)
		}
	}
}
