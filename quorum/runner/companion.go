package runner

import (
	"strconv"
	"strings"
	"time"

	"github.com/redfence/redfence/fencing"
	"github.com/redfence/redfence/quorum/tally"
)

// companion is what a node keeps about a key. The zero companion is that of a key of which it keeps nothing.
type companion struct {
	version tally.Version
	mark    fencing.Token // the largest ever given
	token   fencing.Token // of the present instance
	till    int64         // when that ends, in ms of the node's clock; tally.Forever: never; 0: the key was absent
}

// text is what stands on the node: "<number> <mark> <token> <till> <request>", nothing for the zero companion.
func (c *companion) text(b []byte) []byte {
	if c.version == (tally.Version{}) {
		return b
	}
	b = append(strconv.AppendInt(c.head(b), c.till, 10), ' ')
	return append(b, c.version.Request...)
}

// head is what stands before the end.
func (c *companion) head(b []byte) []byte {
	b = append(strconv.AppendUint(b, c.version.Number, 10), ' ')
	b = append(strconv.AppendInt(b, int64(c.mark), 10), ' ')
	return append(strconv.AppendInt(b, int64(c.token), 10), ' ')
}

func parseCompanion(s string) (c companion, ok bool) {
	if s == "" {
		return c, true
	}
	var n [4]int64
	if s, ok = leadingNumbers(s, n[:]); !ok {
		return c, false
	}
	return companion{
		version: tally.Version{Number: uint64(n[0]), Request: s}, mark: fencing.Token(n[1]), token: fencing.Token(n[2]), till: n[3],
	}, true
}

// leadingNumbers reads numbers that are followed by a blank each, and returns the rest.
func leadingNumbers(s string, into []int64) (rest string, ok bool) {
	for i := range into {
		word, rest, found := strings.Cut(s, " ")
		v, err := strconv.ParseInt(word, 10, 64)
		if !found || err != nil {
			return s, false
		}
		into[i], s = v, rest
	}
	return s, true
}

// hold is the token of a key that is present at a moment of the node's clock: none when its instance has ended, for then
// somebody else has set it.
func (c *companion) hold(now time.Duration) fencing.Token {
	if c.till != tally.Forever && c.till+1 < now.Milliseconds() {
		return 0
	}
	return c.token
}

// Memory is what a proxy believes the companions in a database of a node to be: as they were when it was last told. Others
// may have changed them since, so a node compares them. It is not safe for concurrent use.
type Memory struct{ companions map[string]companion }

// maxBelieved bounds a Memory. One that is full starts anew.
const maxBelieved = 1 << 14

func (m *Memory) of(key string) companion {
	if m == nil {
		return companion{}
	}
	return m.companions[key]
}

func (m *Memory) note(key string, c companion) {
	if m == nil {
		return
	}
	if m.companions == nil || len(m.companions) >= maxBelieved {
		m.companions = map[string]companion{}
	}
	m.companions[key] = c
}
