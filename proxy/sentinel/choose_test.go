package sentinel

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// look is what is seen at a second, and what must be named then: an address, or "-" for nobody.
type look struct {
	at   float64 // seconds
	lead string  // ID of a member
	led  float64 // seconds
	want string
}

// everybody is three members, at one address each; "d" has not told its address.
func everybody(lead Lead) View {
	v := View{Self: "a", Lead: lead}
	for _, id := range []string{"a", "b", "c"} {
		v.Members = append(v.Members, Member{ID: id, Card: Card{Data: id + ":1", Faces: []string{id + ":2"}}})
	}
	v.Members = append(v.Members, Member{ID: "d"})
	return v
}

func TestWhoIsNamed(t *testing.T) {
	raft, quorum := Rules{Settle: 2 * time.Second}, Rules{Keep: 30 * time.Second}
	tests := []struct {
		name  string
		rules Rules
		looks []look
	}{
		{"a leader is named once it has settled", raft, []look{{0, "a", 0, "-"}, {1.9, "a", 1.9, "-"}, {2, "a", 2, "a:1"}}},
		{"the old one is named until the new one has settled", raft, []look{
			{0, "a", 5, "a:1"}, {1, "b", 0, "a:1"}, {2.9, "b", 1.9, "a:1"}, {3, "b", 2, "b:1"},
		}},
		{"a short change moves nobody", raft, []look{{0, "a", 5, "a:1"}, {1, "b", 0, "a:1"}, {2, "a", 0, "a:1"}, {9, "a", 7, "a:1"}}},
		{"without a leader nobody is named", raft, []look{{0, "a", 5, "a:1"}, {1, "", 0, "-"}, {2, "b", 0, "a:1"}, {4, "b", 2, "b:1"}}},
		{"a new face learns for how long somebody has led", raft, []look{{0, "", 0, "-"}, {1, "b", 60, "b:1"}}},
		{"a leader whose address is unknown is not named", raft, []look{{0, "a", 5, "a:1"}, {9, "d", 9, "a:1"}}},
		{"the last one is named for a while", quorum, []look{
			{0, "", 0, "-"}, {1, "b", 0, "b:1"}, {2, "", 0, "b:1"}, {30.9, "", 0, "b:1"}, {31, "", 0, "-"}, {32, "c", 0, "c:1"},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			start := time.Unix(1_700_000_000, 0)
			var n named
			for _, l := range tt.looks {
				n = tt.rules.next(n, everybody(Lead{ID: l.lead, For: seconds(l.led)}), start.Add(seconds(l.at)))
				got := "-"
				if n.valid {
					got = n.addr
				}
				assert.Equal(t, l.want, got, "at %v s", l.at)
			}
		})
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
