package linear

import (
	"fmt"
	"hash/maphash"
	"time"

	"github.com/anishathalye/porcupine"
)

// lock is the state of one lock, as the model sees it.
//
// A lease lasts for its TTL from the call that set it on, as its holder counts. So operations that change the lock have a
// moment of their own, by which leases are measured: somewhere between call and answer, and in the same order as the
// changes, but a change may be seen later than its moment. What a read is told of says nothing of such moments. The model
// holds the earliest ones that are possible, given the operations before. All that is asked of them is that something is not
// too early (behind a call, behind the change before, a TTL behind what set the lease) and not later than an answer. So if
// any moments fit, the earliest ones do.
type lock struct {
	owner string        // who holds it, "" for nobody; the lease may be over all the same, see frees
	token int64         // of the holder; 0 when not known yet
	last  int64         // the largest token that is known
	frees time.Duration // the lease is not over before
	now   time.Duration // the moment of the last change
}

// step executes an operation on a lock, and tells whether it could have been answered like that.
func (l lock) step(o *Op) (lock, bool) {
	if o.Known {
		l, ok := l.answered(o)
		return l, ok && l.now <= o.Return
	}
	return l.unanswered(o), true
}

// answered executes an operation whose answer is known.
func (l lock) answered(o *Op) (lock, bool) {
	holds := l.owner != "" && l.owner == o.Owner
	switch o.Kind {
	case Acquire:
		if !o.Done {
			return l, l.owner != "" && !holds
		}
		ok := o.Token > l.last
		return l.expired().granted(o, o.Token), ok
	case Holder:
		if o.Holder == "" {
			return l.expired(), true
		}
		return l, l.owner == o.Holder
	case Token:
		if o.Done {
			return l.told(o.Token, holds)
		}
	case Release:
		if o.Done {
			return l.at(o).free(), holds
		}
	case Renew:
		if o.Done {
			return l.until(o), holds
		}
	}
	if holds { // it was told that it does not
		l = l.expired()
	}
	return l, true
}

// unanswered executes an operation that may have done something. One that did nothing is the same as one at the end of all.
func (l lock) unanswered(o *Op) lock {
	switch {
	case o.Kind == Acquire:
		return l.expired().granted(o, 0)
	case o.Kind == Release && l.owner == o.Owner:
		return l.at(o).free()
	case o.Kind == Renew && l.owner == o.Owner:
		return l.until(o)
	}
	return l
}

// expired lets the lease end, if there is one: it is that late then.
func (l lock) expired() lock {
	if l.owner == "" {
		return l
	}
	l.now = max(l.now, l.frees)
	return l.free()
}

// at is the lock at the moment of an operation that changes it.
func (l lock) at(o *Op) lock {
	l.now = max(l.now, o.Call)
	return l
}

func (l lock) free() lock {
	l.owner, l.token, l.frees = "", 0, 0
	return l
}

func (l lock) granted(o *Op, token int64) lock {
	l.owner, l.token, l.last = o.Owner, token, max(l.last, token)
	return l.until(o)
}

func (l lock) until(o *Op) lock {
	l = l.at(o)
	l.frees = l.now + o.TTL
	return l
}

// told takes a token that the holder was told of.
func (l lock) told(token int64, holds bool) (lock, bool) {
	if l.token == 0 {
		ok := token > l.last
		l.token, l.last = token, token
		return l, holds && ok
	}
	return l, holds && token == l.token
}

func (l lock) String() string {
	if l.owner == "" {
		return fmt.Sprintf("free at %v", l.now)
	}
	return fmt.Sprintf("held by %s with token %d until %v at %v", l.owner, l.token, l.frees, l.now)
}

var seed = maphash.MakeSeed()

func (l lock) hash() uint64 { return maphash.Comparable(seed, l) }

// model is the lock for porcupine. Its inputs are of type *Op and hold the answers too; it needs no outputs.
func model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return lock{} },
		Step: func(state, input, _ any) (bool, any) {
			next, ok := state.(lock).step(input.(*Op))
			return ok, next
		},
		Hash:              func(state any) uint64 { return state.(lock).hash() },
		DescribeOperation: func(input, _ any) string { return input.(*Op).String() },
		DescribeState:     func(state any) string { return state.(lock).String() },
	}
}
