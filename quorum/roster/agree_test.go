package roster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// on is what nodes answer on which these have the lease.
func on(leaders ...string) []answer {
	var answers []answer
	for _, l := range leaders {
		answers = append(answers, answer{leader: l})
	}
	return answers
}

func TestWish(t *testing.T) {
	tests := []struct {
		name    string
		answers []answer
		want    string
	}{
		{"free everywhere", on("", "", ""), take},
		{"free on a majority", on("", "", "b"), leave},
		{"mine on a majority", on("a", "a", "b"), take},
		{"another's on a majority", on("b", "b", ""), look},
		{"another's on a majority, and mine on one", on("b", "b", "a"), leave},
		{"split: the first of equals goes on", on("a", "b", "c"), take},
		{"too few nodes answer", on("a"), look},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, wish("a", tt.answers, 3)) })
	}
	assert.Equal(t, leave, wish("b", on("a", "b", "c"), 3), "split: the others let go")
}

// Whatever the proxies begin with, they agree within a few rounds in which each sees all nodes.
func TestTheyAgree(t *testing.T) {
	ids := []string{"a", "b", "c", "d"}
	for start := range 125 {
		nodes := []string{"", "", "", "", ""}
		for i, rest := 0, start; i < 3; i, rest = i+1, rest/5 {
			nodes[i] = append(ids, "")[rest%5]
		}
		for range 4 {
			for _, id := range ids {
				want := wish(id, on(nodes...), len(nodes))
				for i := range nodes {
					switch {
					case want == take && nodes[i] == "":
						nodes[i] = id
					case want == leave && nodes[i] == id:
						nodes[i] = ""
					}
				}
			}
		}
		assert.NotEmpty(t, majority(on(nodes...), len(nodes)), "from %d: %v", start, nodes)
	}
}

func TestMergeTakesTheLatestNews(t *testing.T) {
	got := merge([]answer{
		{peers: []Peer{{"a", "old", time.Hour}, {"b", "b", 0}}},
		{peers: []Peer{{"a", "new", time.Second}}},
	})
	assert.Equal(t, []Peer{{"a", "new", time.Second}, {"b", "b", 0}}, got)
}
