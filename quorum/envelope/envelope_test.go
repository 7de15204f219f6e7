package envelope

import (
	"math"
	"math/bits"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLettersComeBack(t *testing.T) {
	for name, l := range map[string]Letter{
		"plain":         {From: 0xabc, Number: 7, Payload: "0"},
		"empty":         {},
		"with colons":   {From: 1, Number: math.MaxUint64, Payload: ":1:2:"},
		"an envelope":   {From: math.MaxUint64, Number: 1, Payload: Wrap(Letter{From: 2, Number: 3, Payload: "x"})},
		"bytes":         {From: 1, Number: 1, Payload: "\x00\r\n\xff"},
		"a long letter": {From: 1, Number: 1, Payload: strings.Repeat("x", 1<<20)},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := Open(Wrap(l))
			require.True(t, ok)
			require.Equal(t, l, got)
		})
	}
	require.Equal(t, "__redfence__1:abc:7:0", Wrap(Letter{From: 0xabc, Number: 7, Payload: "0"}))
}

func TestWhatIsNoEnvelopeIsLeftAlone(t *testing.T) {
	for _, text := range []string{
		"", "0", "1", "hello", "__redfence__", "__redfence__1", "__redfence__1:", "__redfence__1:1:", "__redfence__1:1:1",
		"__redfence__1::1:x", "__redfence__1:1::x", "__redfence__1:01:1:x", "__redfence__1:A:1:x", "__redfence__1:+1:1:x",
		"__redfence__1:1ffffffffffffffff:1:x", "__redfence__2:1:1:x", " __redfence__1:1:1:x",
	} {
		_, ok := Open(text)
		require.False(t, ok, "%q", text)
	}
}

func TestChannels(t *testing.T) {
	tests := map[string]struct {
		name  string
		shard bool
		node  string
		ok    bool
	}{
		"a channel":            {"redisson_lock__channel:{l}", false, "redisson_lock__channel:{l}", true},
		"a shard channel":      {"a", true, "__redfence__:shard:a", true},
		"the empty one":        {"", false, "", true},
		"the notices":          {Notices, false, Notices, false},
		"a disguised shard":    {"__redfence__:shard:a", false, "__redfence__:shard:a", false},
		"a shard like notices": {Notices, true, "__redfence__:shard:" + Notices, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			node, ok := OnNode(tt.name, tt.shard)
			require.Equal(t, tt.ok, ok)
			require.Equal(t, tt.node, node)
			if !ok {
				return
			}
			back, shard, ok := FromNode(node)
			require.True(t, ok)
			require.Equal(t, tt.name, back)
			require.Equal(t, tt.shard, shard)
		})
	}
	_, _, ok := FromNode(Notices)
	require.False(t, ok)
}

func TestNoticesComeBack(t *testing.T) {
	for name, n := range map[string]Notice{
		"a key":         {DB: 3, Key: "list"},
		"with blanks":   {DB: 0, Key: " a b "},
		"the empty key": {DB: 15},
		"all":           {DB: 4, All: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := ReadNotice(n.String())
			require.True(t, ok)
			require.Equal(t, n, got)
		})
	}
	for _, text := range []string{"", "ready", "ready x k", "ready 1", "ready -1 k", "ready 16 k", "readyall", "readyall 1 k", "wake 1 k"} {
		_, ok := ReadNotice(text)
		require.False(t, ok, "%q", text)
	}
}

func TestFirstCopies(t *testing.T) {
	type letter struct {
		from   Sender
		number uint64
		want   bool
	}
	tests := map[string][]letter{
		"copies":             {{1, 1, true}, {1, 1, false}, {1, 1, false}},
		"senders":            {{1, 1, true}, {2, 1, true}, {2, 1, false}},
		"late ones":          {{1, 5, true}, {1, 3, true}, {1, 3, false}, {1, 5, false}, {1, 4, true}},
		"zero":               {{1, 0, true}, {1, 0, false}},
		"the end of window":  {{1, window, true}, {1, 1, true}, {1, 1, false}, {1, 0, false}},
		"a jump":             {{1, 7, true}, {1, 7 + window, true}, {1, 7, false}, {1, 8, true}},
		"a wide jump":        {{1, 7, true}, {1, 1 << 40, true}, {1, 7, false}, {1, 1<<40 - 1, true}},
		"the highest number": {{1, math.MaxUint64, true}, {1, math.MaxUint64, false}, {1, math.MaxUint64 - 1, true}},
	}
	for name, letters := range tests {
		t.Run(name, func(t *testing.T) {
			var s Seen
			for i, l := range letters {
				require.Equal(t, l.want, s.First(l.from, l.number), "letter %d", i)
			}
		})
	}
}

func TestSeenIsBounded(t *testing.T) {
	var s Seen
	for from := range Sender(10 * mostSenders) {
		require.True(t, s.First(1<<60, uint64(from)), "one that goes on is remembered")
		require.True(t, s.First(from, 1))
		require.LessOrEqual(t, len(s.senders), mostSenders)
	}
	require.False(t, s.First(1<<60, 5))
}

// FuzzOpen looks for texts that are taken for envelopes and come out otherwise than they went in.
func FuzzOpen(f *testing.F) {
	for _, text := range []string{"0", "__redfence__1:abc:7:0", "__redfence__1:0:0:", "__redfence__1::", "ready 1 k", "readyall 2"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if l, ok := Open(text); ok && Wrap(l) != text {
			t.Fatalf("%q opens as %+v, which is written %q", text, l, Wrap(l))
		}
		if got, ok := Open(Wrap(Letter{1, 2, text})); !ok || got.Payload != text {
			t.Fatalf("%q does not come back", text)
		}
		if n, ok := ReadNotice(text); ok {
			if again, ok := ReadNotice(n.String()); !ok || again != n {
				t.Fatalf("%q reads as %+v, then as %+v", text, n, again)
			}
		}
		if name, shard, ok := FromNode(text); ok {
			if back, ok := OnNode(name, shard); !ok || back != text {
				t.Fatalf("channel %q comes back as %q", text, back)
			}
		}
	})
}

// FuzzSeen compares with a memory without bounds, for numbers within the window.
func FuzzSeen(f *testing.F) {
	f.Add([]byte{1, 1, 0, 5, 3, 3, 255, 0})
	f.Fuzz(func(t *testing.T, steps []byte) {
		var s Seen
		reference := map[uint64]bool{}
		number := uint64(1 << 20)
		for _, step := range steps {
			number += uint64(step)*200 - 20000 // at most 20000 down and 31000 up
			highest := uint64(0)
			for n := range reference {
				highest = max(highest, n)
			}
			want := !reference[number] && (highest < window || number > highest-window)
			if got := s.First(1, number); got != want {
				t.Fatalf("number %d: first %v, want %v", number, got, want)
			}
			if want {
				reference[number] = true
			}
		}
		if n := s.senders[1]; n != nil && n.count() > len(reference) {
			t.Fatalf("%d numbers are remembered, %d have come", n.count(), len(reference))
		}
	})
}

// count is how many numbers are remembered.
func (n *numbers) count() (c int) {
	for _, word := range n.bits {
		c += bits.OnesCount64(word)
	}
	return c
}
