package keyspace

import (
	"slices"
	"strings"

	"github.com/tidwall/btree"
)

// smallHash is the number of fields up to which a hash is a list of pairs in the order of insertion, as Redis's
// listpack (hash-max-listpack-entries 128).
const smallHash = 128

type pair struct{ field, value string }

// hash is the value of a hash key: a list of pairs while small, a tree ordered by field when large.
type hash struct {
	pairs []pair
	tree  *btree.Map[string, string]
}

func (h *hash) clone() collection {
	if h.tree != nil {
		return &hash{tree: h.tree.Copy()}
	}
	return &hash{pairs: slices.Clone(h.pairs)}
}

func (h *hash) typeName() string { return "hash" }

func (h *hash) encoding() string {
	if h.tree != nil {
		return "hashtable"
	}
	return "listpack"
}

func (h *hash) empty() bool { return h.len() == 0 }

func (h *hash) len() int {
	if h.tree != nil {
		return h.tree.Len()
	}
	return len(h.pairs)
}

func (h *hash) get(field string) (string, bool) {
	if h.tree != nil {
		return h.tree.Get(field)
	}
	for i := range h.pairs {
		if h.pairs[i].field == field {
			return h.pairs[i].value, true
		}
	}
	return "", false
}

// set puts a field and tells whether it is new. The strings are copied.
func (h *hash) set(field, value string) bool {
	value = strings.Clone(value)
	if h.tree != nil {
		_, had := h.tree.Get(field)
		h.tree.Set(strings.Clone(field), value)
		return !had
	}
	for i := range h.pairs {
		if h.pairs[i].field == field {
			h.pairs[i].value = value
			return false
		}
	}
	h.pairs = append(h.pairs, pair{strings.Clone(field), value})
	if len(h.pairs) > smallHash {
		h.grow()
	}
	return true
}

func (h *hash) grow() {
	h.tree = new(btree.Map[string, string])
	for _, p := range h.pairs {
		h.tree.Set(p.field, p.value)
	}
	h.pairs = nil
}

// del removes a field and tells whether it was there.
func (h *hash) del(field string) bool {
	if h.tree != nil {
		_, had := h.tree.Delete(field)
		return had
	}
	i := slices.IndexFunc(h.pairs, func(p pair) bool { return p.field == field })
	if i < 0 {
		return false
	}
	h.pairs = slices.Delete(h.pairs, i, i+1)
	return true
}

// each calls f for every field in a fixed order until it returns false.
func (h *hash) each(f func(field, value string) bool) {
	if h.tree != nil {
		h.tree.Scan(f)
		return
	}
	for _, p := range h.pairs {
		if !f(p.field, p.value) {
			return
		}
	}
}
