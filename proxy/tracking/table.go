// Package tracking remembers which sessions have read which keys, and tells them when one changes: the server's part
// of client-side caching (https://redis.io/docs/latest/develop/reference/client-side-caching/). It does no IO and
// never waits.
package tracking

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redfence/redfence/commands"
)

// DefaultLimit is how many bytes the table may count. Like Redis's tracking-table-max-keys it bounds what clients can
// make the server remember by reading ever more keys; here long names count for more, and so do many readers of a key.
const DefaultLimit = 128 << 20

// readerBytes is what one session's read of one key counts, beside the name.
const readerBytes = 256

// longestShare is which part of the limit a name may take. Who reads a longer one is told at once that it has changed.
const longestShare = 16

// Receiver is a session as the table sees it. It is called with the table locked, so it must neither wait nor call
// the table.
type Receiver interface {
	// Invalidate tells that keys have changed. They are nil when any key may have.
	Invalidate(keys []string)
}

// Mode is how a session is told of changes.
type Mode struct {
	NoLoop    bool // not of its own
	Broadcast bool // of all keys that begin with one of Prefixes, whether it has read them or not
	Prefixes  []string
}

// Table knows which session tracks which keys. Keys are tracked by their names, over all databases, as in Redis. Its
// methods are safe for concurrent use.
type Table struct {
	active atomic.Bool // there are sessions
	limit  int

	mu       sync.Mutex
	sessions map[int64]*session
	keys     map[string]readers
	prefixes map[string]readers
	bytes    int // that keys count
}

type readers map[*session]struct{}

type session struct {
	id   int64
	to   Receiver
	mode Mode
	keys map[string]struct{} // that it has read
}

// New returns a table without sessions that counts at most limit bytes.
func New(limit int) *Table {
	t := &Table{limit: limit, sessions: map[int64]*session{}, prefixes: map[string]readers{}}
	t.forgetKeys()
	return t
}

// Tracking tells whether there are sessions that want to be told of changes.
func (t *Table) Tracking() bool { return t.active.Load() }

// Start tells a session of changes from now on, or changes how it is told. Prefixes are added to those that it has.
func (t *Table) Start(id int64, to Receiver, m Mode) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.sessions[id]
	if s == nil {
		s = &session{id: id, keys: map[string]struct{}{}}
		t.sessions[id] = s
	}
	m.Prefixes = slices.Concat(s.mode.Prefixes, m.Prefixes)
	s.to, s.mode = to, m
	for _, prefix := range m.Prefixes {
		add(t.prefixes, prefix, s)
	}
	t.active.Store(true)
}

// Stop ends that a session is told of changes. No Invalidate for it begins after Stop returned.
func (t *Table) Stop(id int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.sessions[id]
	if s == nil {
		return
	}
	for key := range s.keys {
		t.forget(key, s)
	}
	for _, prefix := range s.mode.Prefixes {
		remove(t.prefixes, prefix, s)
	}
	delete(t.sessions, id)
	t.active.Store(len(t.sessions) > 0)
}

// Accessed takes what a call of a session did to keys, in order: what it read is tracked from now on, and who has
// read what it changed is told. A key is told of once, until it is read again.
func (t *Table) Accessed(by int64, list []commands.Access) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, a := range list {
		switch a.Kind {
		case commands.ReadKey:
			t.read(by, a.Key)
		case commands.ChangedKey:
			t.changed(by, a.Key)
		case commands.FlushedKeys:
			t.flushed()
		}
	}
	if len(t.prefixes) > 0 {
		t.broadcast(by, list)
	}
}

// read tracks a key for a session, unless that wants to be told of all keys or of none.
func (t *Table) read(by int64, key string) {
	s := t.sessions[by]
	if s == nil || s.mode.Broadcast {
		return
	}
	if len(key) > t.limit/longestShare {
		s.to.Invalidate([]string{key})
		return
	}
	if _, known := s.keys[key]; known {
		return
	}
	if t.keys[key] == nil {
		key = strings.Clone(key) // not the command that it is a part of
		t.bytes += len(key)
	}
	add(t.keys, key, s)
	s.keys[key] = struct{}{}
	t.bytes += readerBytes
	t.evict()
}

// evict makes room: it tells of keys, any, that they have changed, though they have not.
func (t *Table) evict() {
	for key := range t.keys {
		if t.bytes <= t.limit {
			return
		}
		t.changed(0, key)
	}
}

func (t *Table) changed(by int64, key string) {
	told := []string{key}
	for s := range t.keys[key] {
		t.forget(key, s)
		if s.id != by || !s.mode.NoLoop {
			s.to.Invalidate(told)
		}
	}
}

// flushed tells all sessions, also one that does not want to be told of its own changes, as Redis does.
func (t *Table) flushed() {
	for _, s := range t.sessions {
		s.keys = map[string]struct{}{}
		s.to.Invalidate(nil)
	}
	t.forgetKeys()
}

func (t *Table) forgetKeys() { t.keys, t.bytes = map[string]readers{}, 0 }

// forget ends that a session tracks a key.
func (t *Table) forget(key string, s *session) {
	delete(s.keys, key)
	t.bytes -= readerBytes
	if remove(t.keys, key, s) {
		t.bytes -= len(key)
	}
}

// broadcast tells sessions of what changed under their prefixes: in one message for each prefix, sorted, as Redis does.
func (t *Table) broadcast(by int64, list []commands.Access) {
	var changed []string
	for _, a := range list {
		if a.Kind == commands.ChangedKey {
			changed = append(changed, a.Key)
		}
	}
	slices.Sort(changed)
	changed = slices.Compact(changed)
	for _, prefix := range slices.Sorted(maps.Keys(t.prefixes)) {
		var under []string
		for _, key := range changed {
			if strings.HasPrefix(key, prefix) {
				under = append(under, key)
			}
		}
		if len(under) == 0 {
			continue
		}
		for s := range t.prefixes[prefix] {
			if s.id != by || !s.mode.NoLoop {
				s.to.Invalidate(under)
			}
		}
	}
}

// Sizes are how much the table holds.
type Sizes struct {
	Sessions int
	Keys     int
	Items    int // pairs of a key and a session that has read it
	Prefixes int
}

// Sizes tells how much the table holds now.
func (t *Table) Sizes() Sizes {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := Sizes{Sessions: len(t.sessions), Keys: len(t.keys), Prefixes: len(t.prefixes)}
	for _, s := range t.sessions {
		n.Items += len(s.keys)
	}
	return n
}

func add(to map[string]readers, name string, s *session) {
	if to[name] == nil {
		to[name] = readers{}
	}
	to[name][s] = struct{}{}
}

// remove tells whether s was the last under that name.
func remove(from map[string]readers, name string, s *session) (last bool) {
	delete(from[name], s)
	if len(from[name]) > 0 {
		return false
	}
	delete(from, name)
	return true
}
