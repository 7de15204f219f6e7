package args

import "github.com/redfence/redfence/commands/resp"

// Condition says when a SET takes place.
type Condition uint8

// The conditions of SET.
const (
	Always Condition = iota
	IfAbsent
	IfPresent
)

// SetOptions are the options of SET (https://redis.io/docs/latest/commands/set/).
type SetOptions struct {
	When    Condition
	Expiry  Expiry
	KeepTTL bool // the TTL of the old value stays
	Get     bool // answer the old value
	Fence   bool // answer the fencing token of the grant: an integer, or nil when it was not granted
}

// Set parses SET key value [NX|XX] [GET] [EX|PX|EXAT|PXAT n | KEEPTTL] [FENCE].
func Set(line []string) (SetOptions, error) {
	var o SetOptions
	r := From(line, 3)
	for r.More() {
		if err := o.option(r, r.Option()); err != nil {
			return o, err
		}
	}
	if o.Fence && o.Get {
		return o, resp.ErrFenceWithGet
	}
	return o, nil
}

func (o *SetOptions) option(r *Reader, word string) error {
	switch {
	case word == "NX" && o.When == Always:
		o.When = IfAbsent
	case word == "XX" && o.When == Always:
		o.When = IfPresent
	case word == "GET":
		o.Get = true
	case word == "FENCE":
		o.Fence = true
	case word == "KEEPTTL" && !o.Expiry.Set():
		o.KeepTTL = true
	case !o.KeepTTL && !o.Expiry.Set():
		return o.Expiry.parse(r, word, "set")
	default:
		return resp.ErrSyntax
	}
	return nil
}
