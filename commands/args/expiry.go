package args

import (
	"math"

	"github.com/redfence/redfence/commands/resp"
)

// Unit is the unit of a TTL and what it counts from.
type Unit uint8

// The units in which clients give a TTL.
const (
	NoExpiry    Unit = iota
	Seconds          // EX: from now
	Millis           // PX: from now
	UnixSeconds      // EXAT: since the Unix epoch
	UnixMillis       // PXAT: since the Unix epoch
)

// Expiry is a TTL as a client gave it. The zero Expiry means none.
type Expiry struct {
	Unit Unit
	Ms   int64 // milliseconds from now, or since the Unix epoch
}

// Set tells whether a TTL was given.
func (e Expiry) Set() bool { return e.Unit != NoExpiry }

// Absolute tells whether Ms counts since the Unix epoch.
func (e Expiry) Absolute() bool { return e.Unit == UnixSeconds || e.Unit == UnixMillis }

var expiryUnits = map[string]Unit{"EX": Seconds, "PX": Millis, "EXAT": UnixSeconds, "PXAT": UnixMillis}

// parse reads the TTL behind one of EX, PX, EXAT and PXAT for a command that takes only positive ones.
func (e *Expiry) parse(r *Reader, word, command string) error {
	unit, ok := expiryUnits[word]
	if !ok || !r.More() {
		return resp.ErrSyntax
	}
	n, err := r.Int()
	if err != nil {
		return err
	}
	e.Unit = unit
	return e.positive(n, command)
}

// positive sets Ms from n in the expiry's unit, refusing what is not positive or overflows.
func (e *Expiry) positive(n int64, command string) error {
	if n <= 0 || (e.inSeconds() && n > math.MaxInt64/1000) {
		return resp.InvalidExpire(command)
	}
	e.Ms = n
	if e.inSeconds() {
		e.Ms *= 1000
	}
	return nil
}

func (e Expiry) inSeconds() bool { return e.Unit == Seconds || e.Unit == UnixSeconds }
