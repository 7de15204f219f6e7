package wait

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestEveryElementGoesToOne has many clients wait at several keys, give up, and push, all at once. In the end each
// element was handed out once or is still there.
func TestEveryElementGoesToOne(t *testing.T) {
	const clients, rounds = 16, 100
	s := newStore()
	var got sync.Map
	var pushed, popped, gaveUp atomic.Int64
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			dice := rand.New(rand.NewPCG(1, uint64(c)))
			for range rounds {
				s.do(t, "RPUSH", "l"+strconv.Itoa(dice.IntN(3)), strconv.FormatInt(pushed.Add(1), 10))
				keys := dice.Perm(3)
				w := s.block(t, "BLPOP", "l"+strconv.Itoa(keys[0]), "l"+strconv.Itoa(keys[1]), "0.002")
				if dice.IntN(3) == 0 {
					w.Unblock(dice.IntN(2) == 0)
				}
				select {
				case r := <-w.reply:
					if r.Reply.Elems == nil {
						gaveUp.Add(1)
						continue
					}
					popped.Add(1)
					_, twice := got.LoadOrStore(r.Reply.Elems[1].Str, true)
					require.False(t, twice, "element %s was handed out twice", r.Reply.Elems[1].Str)
				case <-time.After(patience):
					require.Fail(t, "a waiter was forgotten")
				}
			}
		})
	}
	wg.Wait()
	s.empty(t)
	left := s.do(t, "LLEN", "l0").Int() + s.do(t, "LLEN", "l1").Int() + s.do(t, "LLEN", "l2").Int()
	require.Equal(t, pushed.Load(), popped.Load()+left)
	require.Positive(t, popped.Load())
	t.Logf("%d elements were handed out, %d waits ended without one, %d calls", popped.Load(), gaveUp.Load(), s.made())
}
