package args

import "github.com/redfence/redfence/commands/resp"

// SetOptions are the options of SET (https://redis.io/docs/latest/commands/set/).
type SetOptions struct {
	When    Condition
	Match   string // what a condition compares with
	Expiry  Expiry
	KeepTTL bool // the TTL of the old value stays
	Get     bool // answer the old value
	Fence   bool // answer the fencing token of the grant: an integer, or nil when it was not granted
}

// Set parses SET key value [NX|XX|IFEQ value|IFNE value|IFDEQ digest|IFDNE digest] [GET] [EX|PX|EXAT|PXAT n | KEEPTTL]
// [FENCE].
func Set(line []string) (SetOptions, error) {
	var o SetOptions
	var ttl expiryOption
	for r := From(line, 3); r.More(); {
		word, _ := r.Word()
		if !o.flag(word, ttl) && !o.compare(r, word) && (o.KeepTTL || !ttl.take(r, word)) {
			return o, resp.ErrSyntax
		}
	}
	if o.Fence && o.Get {
		return o, resp.ErrFenceWithGet
	}
	var err error
	o.Expiry, err = ttl.expiry("set")
	return o, err
}

// flag takes an option that is a single word and tells whether it was one that may stand here.
func (o *SetOptions) flag(word string, ttl expiryOption) bool {
	switch {
	case Is(word, "NX") && o.When.mayBe(IfAbsent):
		o.When = IfAbsent
	case Is(word, "XX") && o.When.mayBe(IfPresent):
		o.When = IfPresent
	case Is(word, "GET"):
		o.Get = true
	case Is(word, "FENCE"):
		o.Fence = true
	case Is(word, "KEEPTTL") && ttl.unit == NoExpiry:
		o.KeepTTL = true
	default:
		return false
	}
	return true
}

// SetEx parses SETEX key seconds value.
func SetEx(line []string) (Expiry, error) { return positiveExpiry(Seconds, line[2], "setex") }

// PSetEx parses PSETEX key milliseconds value.
func PSetEx(line []string) (Expiry, error) { return positiveExpiry(Millis, line[2], "psetex") }

// GetExOptions are the options of GETEX (https://redis.io/docs/latest/commands/getex/). Redis reads the number of a
// TTL only once it has found a string, so that a wrong one is not noticed for an absent key.
type GetExOptions struct {
	Persist bool // the TTL goes
	ttl     expiryOption
}

// GetEx parses GETEX key [EX|PX|EXAT|PXAT n | PERSIST].
func GetEx(line []string) (GetExOptions, error) {
	var o GetExOptions
	for r := From(line, 2); r.More(); {
		word, _ := r.Word()
		switch {
		case Is(word, "PERSIST") && o.ttl.unit == NoExpiry:
			o.Persist = true
		case o.Persist || !o.ttl.take(r, word):
			return o, resp.ErrSyntax
		}
	}
	return o, nil
}

// Expiry reads the TTL, which must be positive; the zero Expiry when none was given.
func (o GetExOptions) Expiry() (Expiry, error) { return o.ttl.expiry("getex") }
