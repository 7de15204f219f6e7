package keyspace

import (
	"strings"
	"testing"

	"github.com/redfence/redfence/commands/resp"
)

// TestSortIsBounded has small requests ask for more than a state machine may do or keep.
func TestSortIsBounded(t *testing.T) {
	ks := New()
	elements := make([]string, 2000)
	for i := range elements {
		elements[i] = "x"
	}
	do(t, ks, Stamp{Now: 1}, append([]string{"RPUSH", "l"}, elements...)...)
	do(t, ks, Stamp{Now: 1}, "SET", "big", strings.Repeat("v", 1<<20))
	gets := []string{"SORT", "l", "ALPHA"}
	for range maxSortLookups/2000 + 1 {
		gets = append(gets, "GET", "#")
	}
	if got := do(t, ks, Stamp{Now: 1}, gets...); !equal(got, resp.ErrSortTooMuch.Value()) {
		t.Errorf("too many look-ups: %.100s", show(got))
	}
	do(t, ks, Stamp{Now: 1}, "SET", "gx", strings.Repeat("v", 1<<20))
	if got := run(t, ks, Stamp{Now: 1}, "SORT l ALPHA GET g* STORE d"); !equal(got, resp.ErrSortTooMuch.Value()) {
		t.Errorf("too much to store: %.100s", show(got))
	}
	if got := run(t, ks, Stamp{Now: 1}, "EXISTS d"); got.Int() != 0 {
		t.Error("something was stored")
	}
	do(t, ks, Stamp{Now: 1}, "SET", "long", strings.Repeat("w", 17))
	if got := run(t, ks, Stamp{Now: 1}, "LCS big long LEN"); !equal(got, resp.ErrLCSTooLong.Value()) {
		t.Errorf("too long: %.100s", show(got))
	}
}

func TestSortDoesNotStoreUnderAReservedName(t *testing.T) {
	ks := New()
	if got := run(t, ks, Stamp{Now: 1}, "RPUSH l 2 1", "SORT l STORE __fence__:x"); !equal(got, resp.ErrReserved.Value()) {
		t.Errorf("answered %s", show(got))
	}
}
