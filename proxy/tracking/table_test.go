package tracking

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/commands"
)

// inbox is a receiver that keeps what it is told; "*" stands for all keys.
type inbox struct{ told []string }

func (i *inbox) Invalidate(keys []string) {
	if keys == nil {
		keys = []string{"*"}
	}
	i.told = append(i.told, strings.Join(keys, " "))
}

// accesses reads "r:a c:b f" as: a was read, b has changed, all keys went.
func accesses(text string) []commands.Access {
	kinds := map[string]commands.AccessKind{"r": commands.ReadKey, "c": commands.ChangedKey, "f": commands.FlushedKeys}
	var list []commands.Access
	for word := range strings.FieldsSeq(text) {
		kind, key, _ := strings.Cut(word, ":")
		list = append(list, commands.Access{Kind: kinds[kind], Key: key})
	}
	return list
}

// call is what a session's call did to keys.
type call struct {
	by   int64
	text string
}

func TestWhoIsToldOfWhat(t *testing.T) {
	const me, other = 1, 2
	broadcast := func(prefixes ...string) Mode { return Mode{Broadcast: true, Prefixes: prefixes} }
	tests := map[string]struct {
		mode  Mode
		calls []call
		want  []string
	}{
		"a key that it has read":             {Mode{}, []call{{me, "r:a"}, {other, "c:a"}}, []string{"a"}},
		"not of another key":                 {Mode{}, []call{{me, "r:a"}, {other, "c:b"}}, nil},
		"not of a key that another has read": {Mode{}, []call{{other, "r:a"}, {other, "c:a"}}, nil},
		"once":                               {Mode{}, []call{{me, "r:a"}, {other, "c:a"}, {other, "c:a"}}, []string{"a"}},
		"again when read again":              {Mode{}, []call{{me, "r:a"}, {other, "c:a"}, {me, "r:a"}, {other, "c:a"}}, []string{"a", "a"}},
		"each key by itself":                 {Mode{}, []call{{me, "r:a r:b"}, {other, "c:b c:a"}}, []string{"b", "a"}},
		"the end of a TTL":                   {Mode{}, []call{{me, "r:a"}, {0, "c:a"}}, []string{"a"}},
		"its own change":                     {Mode{}, []call{{me, "r:a"}, {me, "c:a"}}, []string{"a"}},
		"read and changed in one call":       {Mode{}, []call{{me, "r:a c:a"}}, []string{"a"}},
		"changed and read in one call":       {Mode{}, []call{{me, "c:a r:a"}, {other, "c:a"}}, []string{"a"}},
		"all keys":                           {Mode{}, []call{{other, "f"}}, []string{"*"}},
		"nothing is tracked after a flush":   {Mode{}, []call{{me, "r:a"}, {other, "f"}, {other, "c:a"}}, []string{"*"}},
		"no loop":                            {Mode{NoLoop: true}, []call{{me, "r:a"}, {me, "c:a"}}, nil},
		"no loop, untracked by its change":   {Mode{NoLoop: true}, []call{{me, "r:a"}, {me, "c:a"}, {other, "c:a"}}, nil},
		"no loop, another's change":          {Mode{NoLoop: true}, []call{{me, "r:a"}, {other, "c:a"}}, []string{"a"}},
		"no loop, its own flush":             {Mode{NoLoop: true}, []call{{me, "f"}}, []string{"*"}},
		"broadcast":                          {broadcast(""), []call{{other, "c:b r:x c:a c:b"}}, []string{"a b"}},
		"broadcast, reads count nothing":     {broadcast("x"), []call{{me, "r:a"}, {other, "c:a"}}, nil},
		"broadcast by prefix":                {broadcast("q:", "lock:"), []call{{other, "c:q:1 c:lock:b c:other c:lock:a c:lock"}}, []string{"lock:a lock:b", "q:1"}},
		"broadcast, its own change":          {broadcast(""), []call{{me, "c:a"}}, []string{"a"}},
		"broadcast, no loop":                 {Mode{Broadcast: true, Prefixes: []string{""}, NoLoop: true}, []call{{me, "c:a"}, {other, "c:b"}}, []string{"b"}},
		"broadcast, all keys":                {broadcast("x"), []call{{other, "f"}}, []string{"*"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			table, in := New(DefaultLimit), &inbox{}
			table.Start(me, in, tt.mode)
			for _, c := range tt.calls {
				table.Accessed(c.by, accesses(c.text))
			}
			require.Equal(t, tt.want, in.told)
			table.Stop(me)
			table.Accessed(other, accesses("c:a c:lock:a f"))
			require.Equal(t, tt.want, in.told, "told after Stop")
			require.Zero(t, table.Sizes())
			require.Zero(t, table.bytes)
			require.False(t, table.Tracking())
		})
	}
}

func TestStartAgainKeepsWhatIsTracked(t *testing.T) {
	table, before, after := New(DefaultLimit), &inbox{}, &inbox{}
	table.Start(1, before, Mode{})
	table.Accessed(1, accesses("r:a"))
	table.Start(1, after, Mode{NoLoop: true})
	table.Accessed(1, accesses("r:b c:b"))
	table.Accessed(2, accesses("c:a"))
	require.Empty(t, before.told)
	require.Equal(t, []string{"a"}, after.told)
}

func TestStartAgainAddsPrefixes(t *testing.T) {
	table, in := New(DefaultLimit), &inbox{}
	table.Start(1, in, Mode{Broadcast: true, Prefixes: []string{"a"}})
	table.Start(1, in, Mode{Broadcast: true, Prefixes: []string{"b"}})
	table.Accessed(2, accesses("c:a1 c:b1 c:c1"))
	require.Equal(t, []string{"a1", "b1"}, in.told)
}

func TestASessionThatIsGoneTracksNothing(t *testing.T) {
	table := New(DefaultLimit)
	table.Start(1, &inbox{}, Mode{})
	table.Start(2, &inbox{}, Mode{})
	table.Stop(1)
	table.Accessed(1, accesses("r:a")) // the answer of a call that was on its way
	require.Equal(t, Sizes{Sessions: 1}, table.Sizes())
}

// A client that reads ever more keys is told to forget some, and the table stays within its limit.
func TestTheTableIsBounded(t *testing.T) {
	const limit = 100 * (readerBytes + 10)
	table, in := New(limit), &inbox{}
	table.Start(1, in, Mode{})
	for i := range 1000 {
		table.Accessed(1, accesses(fmt.Sprintf("r:key-%06d", i)))
		require.LessOrEqual(t, table.bytes, limit)
	}
	require.Equal(t, 100, table.Sizes().Keys)
	require.Len(t, in.told, 900)
	table.Accessed(2, accesses("c:"+in.told[0]))
	require.Len(t, in.told, 900, "a key that it was told to forget is told of again")
}

func TestALongNameIsNotTracked(t *testing.T) {
	table, in := New(1600), &inbox{}
	table.Start(1, in, Mode{})
	short, long := strings.Repeat("x", 100), strings.Repeat("x", 101)
	table.Accessed(1, accesses("r:"+short+" r:"+long))
	require.Equal(t, []string{long}, in.told)
	table.Accessed(1, accesses("c:"+short))
	require.Equal(t, []string{long, short}, in.told)
}

func TestManyReadersOfAKeyCount(t *testing.T) {
	table := New(10 * readerBytes)
	for id := range int64(20) {
		table.Start(id+1, &inbox{}, Mode{})
	}
	for id := range int64(20) {
		table.Accessed(id+1, accesses("r:k"))
		require.LessOrEqual(t, table.bytes, 10*readerBytes)
	}
}

// For the race detector: sessions come and go while keys are read and changed.
func TestConcurrentUse(t *testing.T) {
	table := New(DefaultLimit)
	var wg sync.WaitGroup
	for id := range int64(4) {
		wg.Go(func() {
			for range 200 {
				table.Start(id, &inbox{}, Mode{NoLoop: id%2 == 0})
				table.Accessed(id, accesses("r:a r:b c:a"))
				if table.Tracking() {
					table.Accessed(0, accesses("c:b f"))
				}
				table.Stop(id)
			}
		})
	}
	wg.Wait()
	require.Zero(t, table.Sizes())
}

func BenchmarkReadAndChange(b *testing.B) {
	table := New(DefaultLimit)
	table.Start(1, &deaf{}, Mode{})
	read, changed := accesses("r:lock:12345"), accesses("c:lock:12345")
	b.ReportAllocs()
	for b.Loop() {
		table.Accessed(1, read)
		table.Accessed(2, changed)
	}
}

type deaf struct{}

func (*deaf) Invalidate([]string) {}
