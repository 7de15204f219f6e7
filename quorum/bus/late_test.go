package bus

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/quorum/envelope"
)

// desk is a bus without nodes, whose ears a test plays.
type desk struct {
	t *testing.T
	*Bus
	told *diary
}

// newDesk is one on which nodes 0 and 1 have confirmed a channel, and node 2 has done it late.
func newDesk(t *testing.T) *desk {
	d := &desk{t: t, told: &diary{}}
	d.Bus = Open(Config{Sink: d.told, Sender: 1})
	t.Cleanup(d.Close)
	d.need = 2
	answer := make(chan error, 1)
	d.Listen(channel("ch"), func(err error) { answer <- err })
	d.confirm(0, channel("ch"))
	d.confirm(1, channel("ch"))
	require.NoError(t, <-answer)
	d.confirm(2, channel("ch"))
	return d
}

// send lets a node send messages of another process, from and up to a number.
func (d *desk) send(node, from, to int) {
	for i := from; i <= to; i++ {
		text := envelope.Wrap(envelope.Letter{From: 2, Number: uint64(i), Payload: strconv.Itoa(i)})
		d.hear(node, &redis.Message{Channel: "ch", Payload: text})
	}
}

func (d *desk) heard(want ...int) {
	d.t.Helper()
	var lines []string
	for _, i := range want {
		lines = append(lines, "message ch "+strconv.Itoa(i))
	}
	require.Equal(d.t, lines, d.told.all(""))
}

// A node that was subscribed to after others had been has missed messages that those are still to send.
func TestALateNodeDoesNotRunAhead(t *testing.T) {
	tests := map[string]struct {
		do   func(d *desk)
		want []int
	}{
		"it waits for the others": {func(d *desk) { d.send(2, 3, 4); d.send(0, 1, 4); d.send(2, 5, 5); d.send(1, 1, 5) }, []int{1, 2, 3, 4, 5}},
		"what only it sends comes when nobody keeps anything older": {func(d *desk) {
			d.send(2, 3, 3)
			d.send(0, 1, 2)
			time.Sleep(defaultKeep + time.Millisecond)
			synctest.Wait()
			d.send(2, 4, 4)
		}, []int{1, 2, 3, 4}},
		"what waits comes before what no longer has to": {func(d *desk) {
			d.send(2, 3, 3)
			time.Sleep(defaultKeep)
			d.send(2, 4, 4)
		}, []int{3, 4}},
		"it is relied on when another goes": {func(d *desk) { d.send(2, 1, 2); d.void(0); d.send(2, 3, 3) }, []int{1, 2, 3}},
		"one that comes again is late": {func(d *desk) {
			d.void(1)
			d.void(2)
			d.confirm(1, channel("ch"))
			d.confirm(2, channel("ch"))
			d.send(2, 3, 3)
			d.send(1, 1, 3)
		}, []int{1, 2, 3}},
		"nothing comes after an end": {func(d *desk) { d.send(2, 3, 3); d.Unlisten(channel("ch")); time.Sleep(2 * defaultKeep) }, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				tt.do(d)
				d.heard(tt.want...)
			})
		})
	}
}

// What is held back is bounded.
func TestALateNodeHoldsLittle(t *testing.T) {
	d := newDesk(t)
	d.send(2, 1, 2*mostHeld)
	require.Len(t, d.told.all(""), 2*mostHeld)
}
