package quorum

import (
	"slices"
	"testing"

	"github.com/redfence/redfence/fencing"
	"github.com/redfence/redfence/quorum/runner"
	"github.com/redfence/redfence/quorum/tally"
)

// TestTokensThatAreAgreedOn has nodes give the same key different tokens. They are made to agree, unless the key is over before
// they could: then the request is neither refused nor of unknown outcome, and no token of it is told.
func TestTokensThatAreAgreedOn(t *testing.T) {
	tests := []struct {
		name   string
		line   []string
		ttl    int64
		agreed bool
	}{
		{"a lock", []string{"SET", "lock", "me", "PX", "60000"}, 60_000, true},
		{"a key without TTL", []string{"SET", "lock", "me"}, tally.Forever, true},
		{"a key for a millisecond", []string{"SET", "lock", "me", "PX", "1"}, 1, false},
		{"a key for a millisecond whose token is wanted", []string{"SET", "lock", "me", "NX", "PX", "1", "FENCE"}, 1, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMuted()
			m.submit(t, tt.line...)
			for i, n := range m.nodes {
				a := tookLock()
				a.Writes[0].TTL, a.Writes[0].Token, a.IsToken = tt.ttl, fencing.Token(7+i), tt.line[len(tt.line)-1] == "FENCE"
				n.answer(a)
			}
			asked := slices.ContainsFunc(m.nodes[0].sent, func(s Sending) bool { _, is := s.Op.(*runner.Accept); return is })
			if asked != tt.agreed {
				t.Errorf("a node was asked to take another's token: %v", asked)
			}
			if answered := len(m.replies) == 1; answered == tt.agreed || answered && m.replies[0].Str != "OK" {
				t.Errorf("replies %v", m.replies)
			}
		})
	}
}
