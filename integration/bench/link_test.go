package main

import (
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestLinksTakeTheirTime has a client talk to a redis-server itself, and over two networks.
func TestLinksTakeTheirTime(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("redis-server is not installed")
	}
	srv, dir := redisServer("redis-server", t.TempDir()), t.TempDir()
	o := options{rounds: 1, duration: 200 * time.Millisecond, clients: []int{1}, links: []time.Duration{0, 20 * time.Millisecond}}
	if err := linkAll(t.Context(), o.links, []*server{srv}, dir); err != nil {
		t.Fatal(err)
	}
	if err := srv.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer srv.stop()
	rows, err := measure(t.Context(), o, passSettings(o), []*server{srv}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 3 {
		t.Fatalf("%d rows, want 3", len(rows))
	}
	if soonest := rows[2].sides[0].seen[0].quantile(0); soonest < o.links[1] {
		t.Errorf("an answer after %v over a link of %v", soonest, o.links[1])
	}
	r := &result{options: o, servers: []*server{srv}, rows: rows}
	for i, want := range []bool{false, true, true} {
		if got := r.linkTook(rows[i]); strings.Contains(got, "longer by") != want {
			t.Errorf("%s: %q", rows[i].name, got)
		}
	}
	if all := processes([]*server{srv}); len(all) != 3 || !slices.Contains(all, srv.links[0]) {
		t.Errorf("%d processes, want 3", len(all))
	}
}
