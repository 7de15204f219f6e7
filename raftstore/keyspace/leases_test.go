package keyspace

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestLeases runs lines at 10 ms of store time and later ones at the time that "@" gives, each as a call of its own but
// those joined by "+", which are one.
func TestLeases(t *testing.T) {
	for name, tt := range map[string]struct {
		lines   string
		granted int
		held    []int64
		refused int
	}{
		"a lock":                         {"SET k a NX PX 100", 1, nil, 0},
		"released":                       {"SET k a NX PX 100; @30; DEL k", 1, []int64{20}, 0},
		"expired":                        {"SET k a NX PX 100; @500; GET k", 1, []int64{490}, 0},
		"refused":                        {"SET k a NX PX 100; SET k b NX PX 100; SETNX k c", 1, nil, 2},
		"no lock: never had a TTL":       {"SET k a NX; @30; DEL k", 0, nil, 0},
		"made a lock in the same call":   {"SETNX k a+PEXPIRE k 100; @30; DEL k", 1, []int64{20}, 0},
		"made a lock later":              {"SETNX k a; PEXPIRE k 100; @30; DEL k", 0, []int64{20}, 0},
		"a hash":                         {"HSET k owner 1+PEXPIRE k 100; @30; HINCRBY k owner 1+PEXPIRE k 200; @50; HDEL k owner", 1, []int64{40}, 0},
		"renewed":                        {"SET k a NX PX 100; @30; PEXPIRE k 100; @50; SET k a PX 100; @60; DEL k", 1, []int64{50}, 0},
		"passed on by SET":               {"SET k a NX PX 100; @30; SET k b PX 100; @60; DEL k", 2, []int64{20, 30}, 0},
		"taken and released in one call": {"SET k a NX PX 100+DEL k+SET k b NX PX 100", 2, []int64{0}, 0},
		"renamed":                        {"SET k a NX PX 100; @30; RENAME k l; @60; DEL l", 2, []int64{20, 30}, 0},
		"XX is not refused":              {"SET k a XX PX 100", 0, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			ks, now := New(), int64(10)
			var granted, refused int
			var held []int64
			for lines := range strings.SplitSeq(tt.lines, "; ") {
				if lines[0] == '@' {
					now, _ = strconv.ParseInt(lines[1:], 10, 64)
					continue
				}
				txn := ks.Begin(Stamp{Now: now, Wall: 1})
				txn.CountLeases(true)
				txn.ExpireDue(10)
				for line := range strings.SplitSeq(lines, "+") {
					txn.Mark()
					exec(t, txn, line)
				}
				g, h, r := txn.Leases()
				granted, held, refused = granted+g, append(held, h...), refused+r
			}
			if granted != tt.granted || !slices.Equal(held, tt.held) || refused != tt.refused {
				t.Errorf("granted %d, held %v, refused %d; want %d, %v, %d", granted, held, refused, tt.granted, tt.held, tt.refused)
			}
		})
	}
}

func TestLeasesOfWhatIsNotCounted(t *testing.T) {
	ks := New()
	txn := ks.Begin(Stamp{Now: 10}) // as of a log that is run again
	txn.Mark()
	exec(t, txn, "SET k a NX PX 100")
	exec(t, txn, "SET k a NX PX 100")
	if granted, held, refused := txn.Leases(); granted+len(held)+refused != 0 {
		t.Errorf("counted %d, %v, %d", granted, held, refused)
	}
	txn = ks.Begin(Stamp{Now: 40})
	txn.CountLeases(true)
	txn.Mark()
	exec(t, txn, "DEL k")
	if _, held, _ := txn.Leases(); !slices.Equal(held, []int64{30}) {
		t.Errorf("held %v, want 30: the grant was seen, though not counted", held)
	}
}

func TestRollbackTakesLeasesBack(t *testing.T) {
	txn := New().Begin(Stamp{Now: 10})
	txn.CountLeases(true)
	exec(t, txn, "SET kept a NX PX 100")
	mark := txn.Mark()
	exec(t, txn, "SET kept b NX PX 100")
	exec(t, txn, "SET gone a NX PX 100")
	exec(t, txn, "DEL kept")
	txn.Rollback(mark)
	if granted, held, refused := txn.Leases(); granted != 1 || len(held)+refused != 0 {
		t.Errorf("granted %d, held %v, refused %d after a rollback", granted, held, refused)
	}
}

func TestALockFromASnapshotHasNoKnownBegin(t *testing.T) {
	ks := New()
	run(t, ks, Stamp{Now: 10}, "SET k a NX PX 100")
	txn := restored(t, ks).Begin(Stamp{Now: 20})
	txn.CountLeases(true)
	exec(t, txn, "DEL k")
	if _, held, _ := txn.Leases(); len(held) != 0 {
		t.Errorf("held %v", held)
	}
}
