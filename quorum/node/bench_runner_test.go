package node

import (
	"fmt"
	"testing"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/integration/harness"
	"github.com/redfence/redfence/quorum"
	"github.com/redfence/redfence/quorum/runner"
)

// BenchmarkLock measures the lock and the unlock that clients send most, with their bookkeeping.
func BenchmarkLock(b *testing.B) {
	for _, outstanding := range []int{1, 64} {
		b.Run(fmt.Sprintf("outstanding=%d", outstanding), func(b *testing.B) {
			n, err := Open(Options{URL: "redis://" + harness.StartRedis(b).Addr, Clock: newClock()})
			if err != nil {
				b.Fatal(err)
			}
			defer n.Close()
			do := make(chan struct{}, outstanding)
			serial := 0
			send := func() {
				serial++
				r, err := commands.Bind([]string{"SET", fmt.Sprint("lock", serial%1000), fmt.Sprint(serial), "PX", "30000"}, 0)
				if err != nil {
					b.Error(err)
				}
				op := &runner.Run{ID: fmt.Sprint("b.", serial), Requests: []*commands.Request{r}, Wall: time.Now().UnixMicro()}
				n.Send(quorum.Sending{Op: op, Deadline: n.o.Clock.Now() + time.Second, Done: func(o quorum.Outcome) {
					if o.Reason != "" {
						b.Error(o.Reason)
					}
					do <- struct{}{}
				}})
			}
			send()
			<-do
			b.ReportAllocs()
			b.ResetTimer()
			sent := 0
			for ; sent < min(outstanding, b.N); sent++ {
				send()
			}
			for range b.N {
				<-do
				if sent < b.N {
					send()
					sent++
				}
			}
		})
	}
}
