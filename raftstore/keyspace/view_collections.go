package keyspace

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

var errEmpty = errors.New("a collection without elements")

func (e *encoder) list(l *list) {
	e.uint(markList)
	e.uint(uint64(l.len()))
	l.each(0, l.len(), func(_ int, s string) bool {
		e.str(s)
		e.flush(block)
		return e.err == nil
	})
}

func (d *decoder) list() *list {
	l := &list{}
	for n := d.uint(); n > 0 && d.err == nil; n-- {
		l.push(false, d.str())
	}
	d.some(l)
	return l
}

func (e *encoder) set(s *memberSet) {
	switch {
	case s.large != nil:
		e.uint(markLargeSet)
	case s.members != nil:
		e.uint(markSet)
	default:
		e.uint(markIntSet)
	}
	e.uint(uint64(s.len()))
	for _, n := range s.ints {
		e.int(n)
	}
	for _, member := range s.members {
		e.str(member)
	}
	if s.large != nil {
		s.large.each(func(member string, _ struct{}) bool {
			e.str(member)
			e.flush(block)
			return e.err == nil
		})
	}
}

func (d *decoder) intSet() *memberSet {
	s := &memberSet{}
	for n := d.uint(); n > 0 && d.err == nil; n-- {
		i := d.int()
		if last := len(s.ints) - 1; d.err == nil && (last >= smallIntSet-1 || (last >= 0 && s.ints[last] >= i)) {
			d.fail(errors.New("a set of integers is out of order or too large"))
		}
		s.ints = append(s.ints, i)
		s.size += int64(elementBytes + len(strconv.FormatInt(i, 10)))
	}
	d.some(s)
	return s
}

// set reads members into s, which has its form already.
func (d *decoder) set(s *memberSet) *memberSet {
	for n := d.uint(); n > 0 && d.err == nil; n-- {
		if member := d.str(); d.err == nil && !s.add(member) {
			d.fail(fmt.Errorf("member %q comes twice", member))
		}
	}
	d.some(s)
	return s
}

func (e *encoder) zset(z *zset) {
	if z.order != nil {
		e.uint(markLargeZSet)
	} else {
		e.uint(markZSet)
	}
	e.uint(uint64(z.len()))
	z.all(func(m scored) bool {
		e.uint(math.Float64bits(m.score))
		e.str(m.member)
		e.flush(block)
		return e.err == nil
	})
}

// zset reads members into z, which has its form already.
func (d *decoder) zset(z *zset) *zset {
	for n := d.uint(); n > 0 && d.err == nil; n-- {
		score := math.Float64frombits(d.uint())
		member := d.str()
		if _, twice := z.score(member); twice || math.IsNaN(score) {
			d.fail(fmt.Errorf("member %q comes twice or without a score", member))
		}
		z.put(member, score)
	}
	d.some(z)
	return z
}

// some refuses a collection without elements, which no key has.
func (d *decoder) some(c collection) {
	if d.err == nil && c.empty() {
		d.fail(errEmpty)
	}
}
