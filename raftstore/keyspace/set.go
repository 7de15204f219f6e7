package keyspace

import (
	"slices"
	"strconv"
	"strings"

	"github.com/redfence/redfence/commands/args"
)

// A set is a sorted list of integers up to the first bound (set-max-intset-entries of Redis) while it has no other
// members, else a list of members up to the second.
const (
	smallIntSet = 512
	smallSet    = 128
)

// memberSet is the value of a set key. It goes from integers to members to large, or from integers to large, and never back.
// A nil set, as of an absent key, has no members.
type memberSet struct {
	ints    []int64         // in order
	members []string        // in the order in which they came
	large   *dict[struct{}] //
	size    int64
}

func (s *memberSet) clone() collection {
	if s.large != nil {
		large := s.large.copy()
		return &memberSet{large: &large, size: s.size}
	}
	return &memberSet{ints: slices.Clone(s.ints), members: slices.Clone(s.members), size: s.size}
}

func (s *memberSet) blank() collection { return &memberSet{} }

func (s *memberSet) typeName() string { return "set" }

func (s *memberSet) encoding() string {
	if s.onlyInts() {
		return "intset"
	}
	return "hashtable"
}

func (s *memberSet) onlyInts() bool { return s.large == nil && s.members == nil }

func (s *memberSet) bytes() int64 { return s.size }

func (s *memberSet) empty() bool { return s.len() == 0 }

func (s *memberSet) len() int {
	switch {
	case s == nil:
		return 0
	case s.large != nil:
		return s.large.len()
	}
	return len(s.ints) + len(s.members)
}

func (s *memberSet) has(member string) bool {
	switch {
	case s == nil:
		return false
	case s.large != nil:
		_, ok := s.large.get(member)
		return ok
	case s.members != nil:
		return slices.Contains(s.members, member)
	}
	n, err := args.Int(member)
	if err != nil {
		return false
	}
	_, ok := slices.BinarySearch(s.ints, n)
	return ok
}

// add puts a member and tells whether it is new. The string is copied.
func (s *memberSet) add(member string) bool {
	if s.has(member) {
		return false
	}
	s.size += int64(elementBytes + len(member))
	n, err := args.Int(member)
	switch {
	case s.onlyInts() && err == nil && len(s.ints) < smallIntSet:
		at, _ := slices.BinarySearch(s.ints, n)
		s.ints = slices.Insert(s.ints, at, n)
		return true
	case s.large == nil && s.len() < smallSet:
		s.toMembers()
		s.members = append(s.members, strings.Clone(member))
		return true
	}
	s.toLarge()
	s.large.set(strings.Clone(member), struct{}{})
	return true
}

func (s *memberSet) toMembers() {
	if s.onlyInts() {
		s.members, s.ints = s.list(), nil
	}
}

func (s *memberSet) toLarge() {
	if s.large != nil {
		return
	}
	large := newDict[struct{}]()
	s.each(func(member string) bool {
		large.set(member, struct{}{})
		return true
	})
	*s = memberSet{large: &large, size: s.size}
}

// del removes a member and tells whether it was there.
func (s *memberSet) del(member string) bool {
	if !s.has(member) {
		return false
	}
	s.size -= int64(elementBytes + len(member))
	switch {
	case s.large != nil:
		s.large.del(member)
	case s.members != nil:
		at := slices.Index(s.members, member)
		s.members = slices.Delete(s.members, at, at+1)
	default:
		n, _ := args.Int(member)
		at, _ := slices.BinarySearch(s.ints, n)
		s.ints = slices.Delete(s.ints, at, at+1)
	}
	return true
}

// at returns the member at a position of the order of each.
func (s *memberSet) at(i int) string {
	switch {
	case s.large != nil:
		member, _ := s.large.at(i)
		return member
	case s.members != nil:
		return s.members[i]
	}
	return strconv.FormatInt(s.ints[i], 10)
}

// each calls f for every member in a fixed order until it returns false.
func (s *memberSet) each(f func(member string) bool) {
	if s == nil {
		return
	}
	if s.large != nil {
		s.large.each(func(member string, _ struct{}) bool { return f(member) })
		return
	}
	for i := range s.len() {
		if !f(s.at(i)) {
			return
		}
	}
}

func (s *memberSet) list() []string {
	all := make([]string, 0, s.len()+1)
	s.each(func(member string) bool {
		all = append(all, member)
		return true
	})
	return all
}

// scan is dict.scan. A small set comes whole, whatever the cursor, as in Redis.
func (s *memberSet) scan(cursor uint64, limit int, f func(member string)) (next uint64) {
	if s.large != nil {
		return s.large.scan(cursor, limit, func(member string, _ struct{}) { f(member) })
	}
	for _, member := range s.list() {
		f(member)
	}
	return 0
}

// same tells whether two sets have the same members in the same order and form.
func (s *memberSet) same(other *memberSet) bool {
	return s.encoding() == other.encoding() && (s.large == nil) == (other.large == nil) &&
		s.len() == other.len() && slices.Equal(s.list(), other.list())
}
