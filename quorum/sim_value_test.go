package quorum

import (
	"slices"
	"strings"

	"github.com/redfence/redfence/fencing"
	"github.com/redfence/redfence/quorum/tally"
)

// simValue is a string or a hash. It is never changed: writes make a new one.
type simValue struct {
	kind  string   // as TYPE says
	items []string // the string; or fields and values, sorted by field
}

func simString(s string) *simValue { return &simValue{kind: "string", items: []string{s}} }

// name is the value as one string: what State and Image of a tally.Write hold here.
func (v *simValue) name() string {
	if v == nil {
		return ""
	}
	return v.kind + "\x00" + strings.Join(v.items, "\x00")
}

// simNamed is the value that name made the text of.
func simNamed(name string) *simValue {
	parts := strings.Split(name, "\x00")
	return &simValue{kind: parts[0], items: parts[1:]}
}

func (v *simValue) get(field string) (string, bool) {
	if v == nil || v.kind != "hash" {
		return "", false
	}
	for i := 0; i < len(v.items); i += 2 {
		if v.items[i] == field {
			return v.items[i+1], true
		}
	}
	return "", false
}

// with is the hash with a field set.
func (v *simValue) with(field, value string) *simValue {
	next := &simValue{kind: "hash"}
	if v != nil {
		next.items = slices.Clone(v.items)
	}
	i := 0
	for ; i < len(next.items) && next.items[i] < field; i += 2 {
	}
	if i < len(next.items) && next.items[i] == field {
		next.items[i+1] = value
		return next
	}
	next.items = slices.Insert(next.items, i, field, value)
	return next
}

// without is the hash with a field removed, nil when it was the last.
func (v *simValue) without(field string) *simValue {
	next := &simValue{kind: "hash"}
	for i := 0; i < len(v.items); i += 2 {
		if v.items[i] != field {
			next.items = append(next.items, v.items[i], v.items[i+1])
		}
	}
	if len(next.items) == 0 {
		return nil
	}
	return next
}

// holds tells whether the value names the holder: a lock's value, or a field of a hash.
func (v *simValue) holds(owner string) bool {
	if v == nil {
		return false
	}
	if v.kind == "string" {
		return v.items[0] == owner
	}
	_, ok := v.get(owner)
	return ok
}

// simEntry is what a node keeps of a key: the key and its companion, which outlives it.
type simEntry struct {
	value   *simValue // nil when absent
	end     int64     // in ms of the node's clock; tally.Forever
	version tally.Version
	mark    fencing.Token
	token   fencing.Token // of the instance present
}
