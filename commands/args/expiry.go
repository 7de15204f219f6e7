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

// unitOf returns the unit that an option names, NoExpiry for any other word.
func unitOf(word string) Unit {
	switch {
	case Is(word, "PX"):
		return Millis
	case Is(word, "EX"):
		return Seconds
	case Is(word, "PXAT"):
		return UnixMillis
	case Is(word, "EXAT"):
		return UnixSeconds
	}
	return NoExpiry
}

// expiryOption is one of EX, PX, EXAT and PXAT with its number, which Redis reads only once all options are known to
// be well formed. The same option may come again and then counts; two different ones exclude each other.
type expiryOption struct {
	unit Unit
	text string
}

// take reads the number behind an option word and tells whether the word was one of the four and may stand here.
func (o *expiryOption) take(r *Reader, word string) bool {
	unit := unitOf(word)
	if unit == NoExpiry || !r.More() || (o.unit != NoExpiry && o.unit != unit) {
		return false
	}
	o.unit = unit
	o.text, _ = r.Word()
	return true
}

// expiry reads the number, which must be positive. The zero option gives the zero Expiry.
func (o expiryOption) expiry(command string) (Expiry, error) {
	if o.unit == NoExpiry {
		return Expiry{}, nil
	}
	return positiveExpiry(o.unit, o.text, command)
}

// positiveExpiry reads a TTL for a command that takes only positive ones.
func positiveExpiry(unit Unit, text, command string) (Expiry, error) {
	e, err := anyExpiry(unit, text, command)
	if err == nil && e.Ms <= 0 {
		err = resp.InvalidExpire(command)
	}
	return e, err
}

// anyExpiry reads a TTL of either sign and refuses seconds that overflow as milliseconds.
func anyExpiry(unit Unit, text, command string) (Expiry, error) {
	n, err := Int(text)
	if err != nil {
		return Expiry{}, err
	}
	if unit == Seconds || unit == UnixSeconds {
		if n > math.MaxInt64/1000 || n < math.MinInt64/1000 {
			return Expiry{}, resp.InvalidExpire(command)
		}
		n *= 1000
	}
	return Expiry{unit, n}, nil
}

// ExpireCondition says when EXPIRE and its relatives take place: the flags may be combined.
type ExpireCondition uint8

// The conditions of EXPIRE (https://redis.io/docs/latest/commands/expire/).
const (
	IfNoTTL   ExpireCondition = 1 << iota // NX
	IfTTL                                 // XX
	IfGreater                             // GT: a key without TTL counts as infinite
	IfLess                                // LT: likewise
)

// ExpireOptions are the options of EXPIRE, PEXPIRE, EXPIREAT and PEXPIREAT.
type ExpireOptions struct {
	Expiry Expiry
	When   ExpireCondition
}

// ExpireParser returns the parser of a command of EXPIRE's family: name key n [NX|XX] [GT|LT].
func ExpireParser(command string, unit Unit) func(line []string) (ExpireOptions, error) {
	return func(line []string) (o ExpireOptions, err error) {
		if o.When, err = expireConditions(line[3:]); err != nil {
			return o, err
		}
		o.Expiry, err = anyExpiry(unit, line[2], command)
		return o, err
	}
}

func expireConditions(words []string) (c ExpireCondition, err error) {
	for _, word := range words {
		switch {
		case Is(word, "NX"):
			c |= IfNoTTL
		case Is(word, "XX"):
			c |= IfTTL
		case Is(word, "GT"):
			c |= IfGreater
		case Is(word, "LT"):
			c |= IfLess
		default:
			return 0, resp.UnsupportedOption(word)
		}
	}
	switch {
	case c&IfNoTTL != 0 && c != IfNoTTL:
		return 0, resp.ErrExpireNX
	case c&IfGreater != 0 && c&IfLess != 0:
		return 0, resp.ErrExpireGTLT
	}
	return c, nil
}
