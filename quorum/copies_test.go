package quorum

import (
	"slices"
	"testing"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/proxy/tracking"
)

// copies is a sink with a table of who keeps copies of keys.
type copies struct {
	deafSink
	*tracking.Table
}

func (c copies) Tracking() bool                            { return c.Table.Tracking() }
func (c copies) Accessed(by int64, list []commands.Access) { c.Table.Accessed(by, list) }

// told is a session that writes down of what it is told.
type told []string

func (t *told) Invalidate(keys []string) { *t = append(*t, keys...) }

// A session that is not told of its own changes hears of the next one of others, if it has read what it changed: it did
// so in the same script, of which the table knew before it was run.
func TestWhoReadsWhatItChangesIsToldOfTheNextChange(t *testing.T) {
	const script = `local r = redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]); redis.call('GET', KEYS[1]); return r`
	const owner, another = 1, 2
	tests := map[string]struct {
		line []string
		want []string
	}{
		"a script that may have read it": {[]string{"EVAL", script, "1", "lock", "me", "60000"}, []string{"lock"}},
		"a write that reads nothing":     {[]string{"SET", "lock", "me", "PX", "60000"}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m, list := newMuted(), &told{}
			table := tracking.New(tracking.DefaultLimit)
			m.engine.cfg.Sink = copies{Table: table}
			table.Start(owner, list, tracking.Mode{NoLoop: true})
			r, err := commands.Bind(tt.line, 0)
			if err != nil {
				t.Fatal(err)
			}
			m.engine.Open().Submit(&commands.Call{
				Session: owner, Track: true, Requests: []*commands.Request{r}, Done: func(commands.Result) {},
			})
			for len(m.nodes[0].sent) > 0 { // a script is stored before
				m.vote(tookLock)
			}
			if len(*list) > 0 {
				t.Fatalf("told of its own change: %v", *list)
			}
			table.Accessed(another, []commands.Access{{Kind: commands.ChangedKey, Key: "lock"}})
			if !slices.Equal(*list, tt.want) {
				t.Errorf("told of %v, want %v", *list, tt.want)
			}
		})
	}
}
