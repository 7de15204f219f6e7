package keyspace

import (
	"slices"
	"strings"

	"github.com/tidwall/btree"
)

// smallList is the length up to which a list is one slice, which a transaction that changes it copies.
const smallList = 128

// listDegree makes the nodes of the tree of a long list small, since every step copies those that it changes.
const listDegree = 8

// list is the value of a list key: a slice while short, a B-tree over positions when long. The positions in the tree
// follow each other without a gap, so an index is found by adding it to that of the head. Which of the two forms a list
// has does not show.
type list struct {
	short []string
	long  *btree.Map[int64, string]
	head  int64 // position of the first element in long
	size  int64
}

func (l *list) clone() collection {
	if l.long != nil {
		return &list{long: l.long.Copy(), head: l.head, size: l.size}
	}
	return &list{short: slices.Clone(l.short), size: l.size}
}

func (l *list) blank() collection { return &list{} }

func (l *list) typeName() string { return "list" }

func (l *list) encoding() string { return "quicklist" }

func (l *list) bytes() int64 { return l.size }

func (l *list) empty() bool { return l.len() == 0 }

// len is the number of elements. A nil list, as of an absent key, has none.
func (l *list) len() int {
	switch {
	case l == nil:
		return 0
	case l.long != nil:
		return l.long.Len()
	}
	return len(l.short)
}

// at returns the element at an index, which must exist.
func (l *list) at(i int) string {
	if l.long != nil {
		s, _ := l.long.Get(l.head + int64(i))
		return s
	}
	return l.short[i]
}

// set replaces the element at an index. The blank list of a dry transaction has none.
func (l *list) set(i int, s string) {
	if i >= l.len() {
		return
	}
	s = strings.Clone(s)
	l.size += int64(len(s) - len(l.at(i)))
	if l.long != nil {
		l.long.Set(l.head+int64(i), s)
	} else {
		l.short[i] = s
	}
}

// push puts an element at the head or at the tail.
func (l *list) push(left bool, s string) {
	if left {
		l.insert(0, s)
	} else {
		l.insert(l.len(), s)
	}
}

// insert puts an element before that at an index, or at the tail. In a long list it moves the elements of the shorter
// side.
func (l *list) insert(i int, s string) {
	i, s = min(i, l.len()), strings.Clone(s)
	l.size += int64(elementBytes + len(s))
	if l.long == nil {
		if l.short = slices.Insert(l.short, i, s); len(l.short) > smallList {
			l.refill(l.short)
		}
		return
	}
	at, n := l.head+int64(i), l.len()
	if i <= n/2 {
		l.head--
		at--
		for p := l.head; p < at; p++ {
			l.shift(p+1, p)
		}
	} else {
		for p := l.head + int64(n); p > at; p-- {
			l.shift(p-1, p)
		}
	}
	l.long.Set(at, s)
}

func (l *list) shift(from, to int64) {
	s, _ := l.long.Get(from)
	l.long.Set(to, s)
}

// refill makes all the elements of a long list.
func (l *list) refill(all []string) {
	*l = list{long: btree.NewMap[int64, string](listDegree), size: l.size}
	for i, s := range all {
		l.long.Load(int64(i), s)
	}
}

// cut removes the elements at the two ends: left of them at the head, right of them at the tail.
func (l *list) cut(left, right int) {
	n := l.len()
	left = min(left, n)
	right = min(right, n-left)
	l.discount(0, left)
	l.discount(n-right, n)
	if l.long == nil {
		l.short = slices.Delete(slices.Delete(l.short, n-right, n), 0, left)
		return
	}
	for range left {
		l.long.Delete(l.head)
		l.head++
	}
	for i := range right {
		l.long.Delete(l.head + int64(n-left-i-1))
	}
}

// discount takes the elements from index from to index to-1 out of the count.
func (l *list) discount(from, to int) {
	l.each(from, to, func(_ int, s string) bool {
		l.size -= int64(elementBytes + len(s))
		return true
	})
}

// without removes the elements at the given indexes, which grow.
func (l *list) without(indexes []int) {
	var left []string
	l.each(0, l.len(), func(i int, s string) bool {
		if len(indexes) > 0 && indexes[0] == i {
			indexes = indexes[1:]
			l.size -= int64(elementBytes + len(s))
			return true
		}
		left = append(left, s)
		return true
	})
	if *l = (list{short: left, size: l.size}); len(left) > smallList {
		l.refill(left)
	}
}

// each calls f for the elements from index from to index to-1 until it returns false.
func (l *list) each(from, to int, f func(i int, s string) bool) {
	if l == nil || from >= to {
		return
	}
	if l.long == nil {
		for i := from; i < to && f(i, l.short[i]); i++ {
		}
		return
	}
	l.long.Ascend(l.head+int64(from), func(p int64, s string) bool {
		i := int(p - l.head)
		return i < to && f(i, s)
	})
}
