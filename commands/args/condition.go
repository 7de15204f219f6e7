package args

import "github.com/redfence/redfence/commands/resp"

// Condition says when a SET, DELEX or ZADD takes place.
type Condition uint8

// The conditions. Those that compare are about the string that the key holds.
const (
	Always        Condition = iota
	IfAbsent                // NX
	IfPresent               // XX
	IfEqual                 // IFEQ: the string is this one
	IfOther                 // IFNE: it is another one
	IfDigest                // IFDEQ: its digest is this one
	IfOtherDigest           // IFDNE: its digest is another one
	ifUnknown               // DELEX with a word that is none of these
)

// mayBe tells whether a condition may be given: there is none yet, or the same one.
func (c Condition) mayBe(other Condition) bool { return c == Always || c == other }

// Comparison is a condition with what the string, or its digest, is compared with. The zero Comparison is none.
type Comparison struct {
	When  Condition
	Match string
}

// Comparison is the condition of a SET if it compares, else the zero one.
func (o *SetOptions) Comparison() Comparison {
	if o.When < IfEqual {
		return Comparison{}
	}
	return Comparison{o.When, o.Match}
}

// Check refuses what Redis refuses only once it has found a string under the key: a condition of DELEX that does not
// exist, and a digest of the wrong length. Digits that are none are not refused; no digest equals them.
func (c Comparison) Check() error {
	switch {
	case c.When == ifUnknown:
		return resp.ErrDelexCondition
	case (c.When == IfDigest || c.When == IfOtherDigest) && len(c.Match) != digestDigits:
		return resp.ErrDigestLength
	}
	return nil
}

// digestDigits is the length of a digest as DIGEST writes it: 64 bits in hexadecimal.
const digestDigits = 16

// comparison returns the condition that a word names, Always for any other word.
func comparison(word string) Condition {
	switch {
	case Is(word, "IFEQ"):
		return IfEqual
	case Is(word, "IFNE"):
		return IfOther
	case Is(word, "IFDEQ"):
		return IfDigest
	case Is(word, "IFDNE"):
		return IfOtherDigest
	}
	return Always
}

// compare takes what follows a word that names a comparison, and tells whether it was one that may stand here.
func (o *SetOptions) compare(r *Reader, word string) bool {
	c := comparison(word)
	if c == Always || !o.When.mayBe(c) || !r.More() {
		return false
	}
	o.When = c
	o.Match, _ = r.Word()
	return true
}

// Delex parses DELEX key [IFEQ value|IFNE value|IFDEQ digest|IFDNE digest]
// (https://redis.io/docs/latest/commands/delex/). Redis looks at the word only once it has found a string, so one that
// it does not know is no error here: see Check.
func Delex(line []string) (Comparison, error) {
	switch len(line) {
	case 2:
		return Comparison{}, nil
	case 4:
		c := comparison(line[2])
		if c == Always {
			c = ifUnknown
		}
		return Comparison{c, line[3]}, nil
	}
	return Comparison{}, resp.WrongArity("delex")
}
