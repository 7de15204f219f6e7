package node

import (
	"context"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redfence/redfence/integration/harness"
	"github.com/redfence/redfence/quorum"
)

// BenchmarkStream measures Send to Done with a number of operations outstanding, BenchmarkPipeline the same scripts in
// go-redis pipelines of that length.
func BenchmarkStream(b *testing.B) {
	for _, outstanding := range []int{1, 64} {
		b.Run(fmt.Sprintf("outstanding=%d", outstanding), func(b *testing.B) {
			n := openNode(b, harness.StartRedis(b).Addr, nil)
			op := command("SET k v")
			do := make(chan struct{}, outstanding)
			send := func() {
				n.Send(quorum.Sending{Op: op, Done: func(o quorum.Outcome) {
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

func BenchmarkPipeline(b *testing.B) {
	for _, length := range []int{1, 64} {
		b.Run(fmt.Sprintf("length=%d", length), func(b *testing.B) {
			ctx := context.Background()
			client := redis.NewClient(&redis.Options{Addr: harness.StartRedis(b).Addr, Protocol: 2, PoolSize: 1})
			defer client.Close()
			if err := client.ScriptLoad(ctx, plainText).Err(); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for done := 0; done < b.N; done += length {
				pipe := client.Pipeline()
				for range length {
					pipe.EvalSha(ctx, plainNamed.SHA, nil, "", "0", "SET", "k", "v")
				}
				if _, err := pipe.Exec(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
