package keyspace

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/redfence/redfence/commands/resp"
)

// walk calls SCAN or a relative until the cursor is 0 and returns what it found, and how many calls that took. between
// runs after each call.
func walk(t *testing.T, ks *Keyspace, line string, between func(i int)) (found map[string]bool, calls int) {
	t.Helper()
	found = map[string]bool{}
	for cursor := "0"; calls < 10_000; calls++ {
		v := run(t, ks, Stamp{Now: 1}, fmt.Sprintf(line, cursor))
		if v.IsErr() {
			t.Fatal(v.Str)
		}
		for _, e := range v.Elems[1].Elems {
			found[e.Str] = true
		}
		if cursor = v.Elems[0].Str; cursor == "0" {
			return found, calls + 1
		}
		if n, err := strconv.ParseUint(cursor, 10, 64); err != nil || n >= 1<<53 {
			t.Fatalf("cursor %s is not exact in a double", cursor)
		}
		between(calls)
	}
	t.Fatal("the walk does not end")
	return nil, 0
}

// TestScanFindsWhatIsThereAllTheTime changes the data between the calls.
func TestScanFindsWhatIsThereAllTheTime(t *testing.T) {
	const n = 1000
	tests := []struct {
		name           string
		put, del, scan string
	}{
		{"SCAN", "SET %s v", "DEL %s", "SCAN %s COUNT 7"},
		{"HSCAN", "HSET h %s v", "HDEL h %s", "HSCAN h %s COUNT 7"},
		{"SSCAN", "SADD h %s", "SREM h %s", "SSCAN h %s COUNT 7"},
		{"ZSCAN", "ZADD h 1 %s", "ZREM h %s", "ZSCAN h %s COUNT 7"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ks := New()
			for i := range n {
				run(t, ks, Stamp{Now: 1}, fmt.Sprintf(tt.put, held(i)), fmt.Sprintf(tt.put, "passing"+held(i)))
			}
			found, calls := walk(t, ks, tt.scan, func(i int) {
				run(t, ks, Stamp{Now: 1}, fmt.Sprintf(tt.del, "passing"+held(i%n)), fmt.Sprintf(tt.put, "new"+held(i)),
					fmt.Sprintf(tt.put, held(i%n)))
			})
			for i := range n {
				if !found[held(i)] {
					t.Errorf("%s was missed", held(i))
				}
			}
			if calls < n/7 {
				t.Errorf("%d calls: COUNT is not heeded", calls)
			}
		})
	}
}

func TestScanFilters(t *testing.T) {
	ks := New()
	for i := range 50 {
		run(t, ks, Stamp{Now: 1}, fmt.Sprintf("SET s%d v", i), fmt.Sprintf("HSET h%d f v", i))
	}
	for line, want := range map[string]int{
		"SCAN %s": 100, "SCAN %s TYPE hash": 50, "SCAN %s MATCH s1*": 11,
		"SCAN %s MATCH *1 TYPE string COUNT 3": 5, "SCAN %s TYPE list": 0,
	} {
		if found, _ := walk(t, ks, line, func(int) {}); len(found) != want {
			t.Errorf("%s found %d keys, want %d", line, len(found), want)
		}
	}
}

// TestEqualHashesAreNotLost puts entries with one hash into a dict: a scan must not cut between them, and a look-up
// must tell them apart.
func TestEqualHashesAreNotLost(t *testing.T) {
	d := newDict[int]()
	for i := range 100 {
		d.tree.Set(entry[int]{hash: uint64(i / 10), name: strconv.Itoa(i), value: i})
	}
	var found []int
	cursor := uint64(0)
	for range 100 {
		cursor = d.scan(cursor, 3, func(_ string, i int) { found = append(found, i) })
		if cursor == 0 {
			break
		}
	}
	slices.Sort(found)
	if len(found) != 100 || len(slices.Compact(found)) != 100 {
		t.Errorf("found %d entries: %v", len(found), found)
	}
	if e, ok := d.tree.Get(entry[int]{hash: 3, name: "37"}); !ok || e.value != 37 {
		t.Errorf("found %v, %v", e, ok)
	}
}

// TestHashOrderIsFixed pins the hash: it orders snapshots and cursors, so it must be the same in every build.
func TestHashOrderIsFixed(t *testing.T) {
	for name, want := range map[string]uint64{"": 0xef46db3751d8e, "lock": 0x28833815e2372, "a": 0xd24ec4f1a98c6} {
		if got := hashOf(name); got != want {
			t.Errorf("hashOf(%q) = %#x, want %#x", name, got, want)
		}
	}
}

func TestHashGrowsAndStays(t *testing.T) {
	tests := []struct {
		name string
		make func(ks *Keyspace)
		want string
	}{
		{"one field", func(ks *Keyspace) { run(t, ks, Stamp{}, "HSET h f v") }, "listpack"},
		{"as many fields as a list holds", func(ks *Keyspace) { fields(t, ks, smallHash) }, "listpack"},
		{"one more", func(ks *Keyspace) { fields(t, ks, smallHash+1) }, "hashtable"},
		{"a value of 64 bytes", func(ks *Keyspace) { run(t, ks, Stamp{}, "HSET h f "+fmt.Sprintf("%064d", 1)) }, "listpack"},
		{"a value of 65 bytes", func(ks *Keyspace) { run(t, ks, Stamp{}, "HSET h f "+fmt.Sprintf("%065d", 1)) }, "hashtable"},
		{"a field of 65 bytes", func(ks *Keyspace) { run(t, ks, Stamp{}, "HSET h "+fmt.Sprintf("%065d", 1)+" v") }, "hashtable"},
		{"large, then small again", func(ks *Keyspace) {
			fields(t, ks, 200)
			for i := range 198 {
				run(t, ks, Stamp{}, "HDEL h "+held(i))
			}
		}, "hashtable"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ks := New()
			tt.make(ks)
			if got := run(t, ks, Stamp{}, "OBJECT ENCODING h"); got.Str != tt.want {
				t.Errorf("encoding %s, want %s", got.Str, tt.want)
			}
			again := restored(t, ks)
			for _, line := range []string{"OBJECT ENCODING h", "HGETALL h", "HLEN h", "HKEYS h"} {
				a, b := run(t, ks, Stamp{}, line), run(t, again, Stamp{}, line)
				if !equal(a, b) {
					t.Errorf("%s after a restore: %s, was %s", line, show(b), show(a))
				}
			}
		})
	}
}

// fields makes a hash of n fields.
func fields(t *testing.T, ks *Keyspace, n int) {
	t.Helper()
	for i := range n {
		run(t, ks, Stamp{}, "HSET h "+held(i)+" "+strconv.Itoa(i))
	}
}

func TestLargeHash(t *testing.T) {
	ks := New()
	fields(t, ks, 500)
	for line, want := range map[string]resp.Value{
		"HGET h " + held(321):                     resp.Str("321"),
		"HEXISTS h nofield":                       resp.Int(0),
		"HLEN h":                                  resp.Int(500),
		"HSET h " + held(1) + " x new y":          resp.Int(1),
		"HSTRLEN h " + held(450):                  resp.Int(3),
		"HDEL h " + held(2) + " nofield":          resp.Int(1),
		"HMGET h " + held(2) + " " + held(3):      resp.Arr(resp.Value{}, resp.Str("3")),
		"HINCRBY h " + held(10) + " 5":            resp.Int(15),
		"HSETNX h " + held(10) + " 5":             resp.Int(0),
		"HINCRBYFLOAT h " + held(11) + " 0.5":     resp.Str("11.5"),
		"FENCE h " + held(499):                    resp.Int(int64(ks.LastToken())),
		"HSTRLEN h " + held(77) + held(78):        resp.Int(0),
		"HDEL h " + held(498) + " " + held(497):   resp.Int(2),
		"HMGET h " + held(100) + " " + held(1000): resp.Arr(resp.Str("100"), resp.Value{}),
	} {
		fresh := restored(t, ks)
		if line[:4] == "HMGE" && want.Elems[0].IsNull() {
			run(t, fresh, Stamp{}, "HDEL h "+held(2))
		}
		if got := run(t, fresh, Stamp{}, line); !equal(got, want) {
			t.Errorf("%s: %s, want %s", line, show(got), show(want))
		}
	}
}
