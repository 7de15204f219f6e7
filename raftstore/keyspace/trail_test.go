package keyspace

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/redfence/redfence/commands"
)

// trailOf shows a trail as "read a, changed b".
func trailOf(list []commands.Access) string {
	words := map[commands.AccessKind]string{commands.ReadKey: "read ", commands.ChangedKey: "changed ", commands.FlushedKeys: "flushed"}
	var steps []string
	for _, a := range list {
		steps = append(steps, words[a.Kind]+a.Key)
	}
	return strings.Join(steps, ", ")
}

// TestTrail runs lines as the parts of one call, or of one script, and says what the trail holds then.
func TestTrail(t *testing.T) {
	setup := []string{"SET s v", "SET ttl v PX 5000", "SET due v PX 1", "HSET h f v", "RPUSH l a"}
	for name, tt := range map[string]struct {
		lines string
		want  string
	}{
		"a read":                         {"GET s", "read s"},
		"a read of an absent key":        {"GET nokey", "read nokey"},
		"a read of many":                 {"MGET s nokey", "read s, read nokey"},
		"a read of the wrong type":       {"GET h", "read h"},
		"a read that names no key":       {"KEYS *; DBSIZE; RANDOMKEY", ""},
		"a read by a command that wrote": {"SET s w GET", "changed s"},
		"a read by one that could":       {"SET s v GET; INCRBY nokey 0; GETEX s", "changed nokey"},
		"one that comes into being":      {"SET new v", "changed new"},
		"overwritten":                    {"SET s w", "changed s"},
		"overwritten by itself":          {"SET s v", ""},
		"another TTL":                    {"PEXPIRE ttl 6000", "changed ttl"},
		"the same TTL":                   {"PEXPIRE ttl 4998", ""},
		"no TTL":                         {"PERSIST ttl", "changed ttl"},
		"a new key with a TTL":           {"SET new v PX 5", "changed new"},
		"deleted":                        {"DEL s nokey h", "changed s, changed h"},
		"renamed":                        {"RENAME s new", "changed s, changed new"},
		"copied":                         {"COPY s new", "changed new"},
		"moved":                          {"MOVE s 3", "changed s"},
		"a field":                        {"HSET h f w", "changed h"},
		"the same field":                 {"HSET h f v", ""},
		"an element":                     {"LPUSH l b", "changed l"},
		"the end of a TTL":               {"GET due", "changed due, read due"},
		"in order":                       {"GET s; SET s w; GET s", "read s, changed s, read s"},
		"in place, after a read":         {"SET s w; GET s; PEXPIRE s 70", "changed s, read s, changed s"},
		"repeated":                       {"GET s; STRLEN s; SET s 1; SET s 2; DEL s", "read s, changed s"},
		"all keys":                       {"FLUSHALL", "flushed"},
		"no keys":                        {"FLUSHALL; FLUSHALL", "flushed"},
		"an empty database":              {"SELECT 5; FLUSHDB", ""},
		"exchanged":                      {"SWAPDB 0 1", "flushed"},
		"scripts are no keys":            {"SCRIPT FLUSH", ""},
		"the token of a key":             {"FENCE s", "read s"},
		"a name that shows a token":      {"GET __fence__:s", "read __fence__:s, changed __fence__:s"},
	} {
		t.Run(name, func(t *testing.T) {
			ks := New()
			run(t, ks, Stamp{Now: 10, Wall: 60_000_000}, setup...)
			txn := ks.Begin(Stamp{Now: 12, Wall: 60_000_000})
			txn.Trace(true, true)
			txn.Mark() // one step, as of a script
			for line := range strings.SplitSeq(tt.lines, "; ") {
				if line == "SELECT 5" {
					txn.Select(5)
					continue
				}
				exec(t, txn, line)
			}
			if got := trailOf(txn.Trail()); got != tt.want {
				t.Errorf("trail %q, want %q", got, tt.want)
			}
			if got := txn.Trail(); len(got) != 0 {
				t.Errorf("%v is told twice", got)
			}
		})
	}
}

func TestTrailHoldsOnlyWhatIsAskedFor(t *testing.T) {
	for name, tt := range map[string]struct {
		changes, reads bool
		want           string
	}{
		"nothing": {false, false, ""},
		"changes": {true, false, "changed k"},
		"reads":   {false, true, "read k"},
	} {
		t.Run(name, func(t *testing.T) {
			txn := New().Begin(Stamp{Now: 1})
			txn.Trace(tt.changes, tt.reads)
			exec(t, txn, "SET k v")
			exec(t, txn, "GET k")
			if got := trailOf(txn.Trail()); got != tt.want {
				t.Errorf("trail %q, want %q", got, tt.want)
			}
		})
	}
}

func TestRollbackTakesTheTrailBack(t *testing.T) {
	txn := New().Begin(Stamp{Now: 1})
	txn.Trace(true, true)
	exec(t, txn, "SET kept v")
	mark := txn.Mark()
	exec(t, txn, "SET gone v")
	exec(t, txn, "GET gone")
	txn.Rollback(mark)
	if got := trailOf(txn.Trail()); got != "changed kept" {
		t.Errorf("trail %q after a rollback", got)
	}
}

// TestADryTransactionReadsAndChangesNothing shows what is told of an attempt that is answered without the log.
func TestADryTransactionReadsAndChangesNothing(t *testing.T) {
	ks := New()
	run(t, ks, Stamp{Now: 1}, "SET k v")
	txn := ks.Try(Stamp{Clock: 1, Wall: 1})
	txn.Trace(true, true)
	exec(t, txn, "GET k")
	exec(t, txn, "SET k w NX")
	if got := trailOf(txn.Trail()); got != "read k" {
		t.Errorf("trail %q", got)
	}
}

// TestTheTrailMissesNoChange runs random lines, several in one step as a script does, and holds the trail of each to
// what it did to the keys.
func TestTheTrailMissesNoChange(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		ks, p := New(), &program{data: make([]byte, 2000)}
		for i := range p.data {
			p.data[i] = byte(random.Uint32())
		}
		for len(p.data) > 0 {
			txn := ks.Begin(p.stamp())
			txn.Trace(true, false)
			txn.ExpireDue(1_000)
			txn.Mark()
			for range 1 + p.byte()%4 {
				followed(t, ks, txn, p)
			}
		}
	}
}

// followed runs a line and checks what the trail holds of it.
func followed(t *testing.T, ks *Keyspace, txn *Txn, p *program) {
	t.Helper()
	txn.Select(p.byte() % 3)
	r, err := commands.Bind(p.line(), txn.DB())
	if err != nil {
		return
	}
	before := contents(ks)
	txn.Trail()
	txn.Exec(r)
	told := map[string]bool{}
	for _, a := range txn.Trail() {
		told[a.Key] = true
		if a.Kind == commands.FlushedKeys {
			return
		}
	}
	after := contents(ks)
	for at := range merged(before, after) {
		if before[at] != after[at] && !told[at.key] {
			t.Fatalf("%q changed %q, but tells only of %v", r.Args, at.key, told)
		}
	}
}

// placeOf is where a key is.
type placeOf struct {
	db  int
	key string
}

// contents are the keys in their snapshot form.
func contents(ks *Keyspace) map[placeOf]string {
	all := map[placeOf]string{}
	for i, db := range ks.dbs[:Databases] {
		db.keys.each(func(key string, o *object) bool {
			var b bytes.Buffer
			e := newEncoder(&b)
			e.object(o)
			_, _ = e.close()
			all[placeOf{i, key}] = b.String()
			return true
		})
	}
	return all
}

func merged(a, b map[placeOf]string) map[placeOf]string {
	both := maps.Clone(a)
	maps.Copy(both, b)
	return both
}
