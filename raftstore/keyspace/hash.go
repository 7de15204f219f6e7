package keyspace

import (
	"slices"
	"strings"
)

// A hash is a list of pairs in the order of insertion up to these bounds, as Redis's listpack is
// (hash-max-listpack-entries, which is 512 there, and hash-max-listpack-value). Our list is shorter, since a
// transaction that changes it copies it.
const (
	smallHash  = 128
	smallField = 64 // bytes of a field or value
)

type pair struct{ field, value string }

// hash is the value of a hash key: a list of pairs while small, a dict when large. It never turns back.
type hash struct {
	pairs []pair
	large *dict[string]
	size  int64
}

func (h *hash) clone() collection {
	if h.large != nil {
		large := h.large.copy()
		return &hash{large: &large, size: h.size}
	}
	return &hash{pairs: slices.Clone(h.pairs), size: h.size}
}

func (h *hash) blank() collection { return &hash{} }

func (h *hash) typeName() string { return "hash" }

func (h *hash) encoding() string {
	if h.large != nil {
		return "hashtable"
	}
	return "listpack"
}

func (h *hash) bytes() int64 { return h.size }

func (h *hash) empty() bool { return h.len() == 0 }

// len is the number of fields. A nil hash, as of an absent key, has none.
func (h *hash) len() int {
	switch {
	case h == nil:
		return 0
	case h.large != nil:
		return h.large.len()
	}
	return len(h.pairs)
}

// get returns the value of a field. A nil hash has no fields.
func (h *hash) get(field string) (string, bool) {
	if h == nil {
		return "", false
	}
	if h.large != nil {
		return h.large.get(field)
	}
	if i := h.index(field); i >= 0 {
		return h.pairs[i].value, true
	}
	return "", false
}

func (h *hash) index(field string) int {
	for i := range h.pairs {
		if h.pairs[i].field == field {
			return i
		}
	}
	return -1
}

// set puts a field and tells whether it is new. The strings are copied.
func (h *hash) set(field, value string) bool {
	h.size += int64(len(value))
	if h.large != nil {
		old, had := h.large.set(cloned(field, value))
		h.replaced(field, old, had)
		return !had
	}
	i := h.index(field)
	if i >= 0 {
		h.replaced(field, h.pairs[i].value, true)
		h.pairs[i].value = strings.Clone(value)
	} else {
		h.replaced(field, "", false)
		field, value = cloned(field, value)
		h.pairs = append(h.pairs, pair{field, value})
	}
	if len(h.pairs) > smallHash || len(field) > smallField || len(value) > smallField {
		h.grow()
	}
	return i < 0
}

// replaced counts a field that is new, or a value that is gone.
func (h *hash) replaced(field, old string, had bool) {
	if had {
		h.size -= int64(len(old))
	} else {
		h.size += int64(elementBytes + len(field))
	}
}

func (h *hash) grow() {
	large := newDict[string]()
	for _, p := range h.pairs {
		large.set(p.field, p.value)
	}
	h.pairs, h.large = nil, &large
}

// del removes a field and tells whether it was there.
func (h *hash) del(field string) bool {
	value, had := h.get(field)
	if !had {
		return false
	}
	h.size -= int64(elementBytes + len(field) + len(value))
	if h.large != nil {
		h.large.del(field)
		return true
	}
	i := h.index(field)
	h.pairs = slices.Delete(h.pairs, i, i+1)
	return true
}

// each calls f for every field in a fixed order until it returns false.
func (h *hash) each(f func(field, value string) bool) {
	if h == nil {
		return
	}
	if h.large != nil {
		h.large.each(f)
		return
	}
	for _, p := range h.pairs {
		if !f(p.field, p.value) {
			return
		}
	}
}

// at returns the field at a position of the order of each.
func (h *hash) at(i int) (field, value string) {
	if h.large != nil {
		return h.large.at(i)
	}
	return h.pairs[i].field, h.pairs[i].value
}

// scan is dict.scan. A small hash comes whole, whatever the cursor, as in Redis.
func (h *hash) scan(cursor uint64, limit int, f func(field, value string)) (next uint64) {
	if h.large != nil {
		return h.large.scan(cursor, limit, f)
	}
	for _, p := range h.pairs {
		f(p.field, p.value)
	}
	return 0
}
