package proxy

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/commands/resp"
)

// narrowWire takes so many bytes at once without waiting, and any number when the writer waits.
type narrowWire struct {
	mu     sync.Mutex
	atOnce int
	out    bytes.Buffer
	tried  int // bytes that tryWrite took
}

func (w *narrowWire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}

func (w *narrowWire) tryWrite(p []byte) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, _ := w.out.Write(p[:min(len(p), w.atOnce)])
	w.tried += n
	return n
}

func (w *narrowWire) written() (text string, tried int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.String(), w.tried
}

// TestWhoAnswersWritesWhatTheWireTakes holds that an answer is written by its caller as far as that needs no waiting, and
// that the writer does the rest in order.
func TestWhoAnswersWritesWhatTheWireTakes(t *testing.T) {
	large := strings.Repeat("x", 2*smallWrite)
	for _, c := range []struct {
		name   string
		atOnce int
		owed   int // replies; the last is answered first
		reply  string
		tried  int
	}{
		{"all of it", 1 << 20, 1, "reply", len("$5\r\nreply\r\n")},
		{"a part", 3, 1, "reply", 3},
		{"nothing", 0, 1, "reply", 0},
		{"several at once", 1 << 20, 3, "reply", 3 * len("$5\r\nreply\r\n")},
		{"a large one is the writer's", 1 << 20, 1, large, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &narrowWire{atOnce: c.atOnce}
			o := newOutbox(w, Limits{}.withDefaults(), func() {})
			var writer sync.WaitGroup
			writer.Go(o.run)
			slots := make([]*slot, c.owed)
			want := ""
			for i := range slots {
				slots[i] = &slot{box: o, proto: resp.RESP2}
				o.add(slots[i])
				want += string(resp.Append(nil, resp.Str(c.reply), resp.RESP2))
			}
			for i := range slots {
				o.answered(slots[len(slots)-1-i], Result{Reply: resp.Str(c.reply)})
			}
			o.end()
			writer.Wait()
			text, tried := w.written()
			require.Equal(t, want, text)
			require.Equal(t, c.tried, tried)
		})
	}
}

// TestAPostponedAnswerIsLeftToTheLoop holds that an answer that comes between postpone and postponed is not written by who gives it,
// nor by the writer, and that a later one is.
func TestAPostponedAnswerIsLeftToTheLoop(t *testing.T) {
	w := &narrowWire{atOnce: 1 << 20}
	o := newOutbox(w, Limits{}.withDefaults(), func() {})
	answer := func(text string) {
		s := &slot{box: o, proto: resp.RESP2}
		o.add(s)
		o.answered(s, Result{Reply: resp.Str(text)})
	}
	require.True(t, o.postpone())
	require.False(t, o.postponed(), "nothing was answered")
	require.True(t, o.postpone())
	answer("first")
	require.True(t, o.postponed())
	answer("second")
	text, _ := w.written()
	require.Empty(t, text)
	o.writeNow()
	answer("third")
	text, _ = w.written()
	require.Equal(t, "$5\r\nfirst\r\n$6\r\nsecond\r\n$5\r\nthird\r\n", text)
	require.False(t, o.postponed())
}
