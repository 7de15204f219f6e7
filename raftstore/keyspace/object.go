package keyspace

import "github.com/redfence/redfence/commands/args"

// object is the value of one key with what belongs to the key. An object that a committed transaction left in the
// keyspace is never modified again: the next transaction that changes the key works on a clone. Snapshots and
// journals therefore need no copy, only the old pointer.
type object struct {
	key      string     // the key itself, so that indexes share one copy of it
	str      string     // the value of a string key
	coll     collection // the value of any other key; nil for strings
	deadline int64      // store time in ms, the last at which the key is there; 0 means never
	absolute int64      // the absolute expiry that a client gave, ms since the Unix epoch; 0 when it gave a TTL
	token    int64      // fencing token of this instance of the key
	since    int64      // store time in ms of the token; 0 when that is not known, after a snapshot; not part of the state
	version  uint64     // the number of its last change, see changes
	owner    uint64     // the step that made this copy and may still modify it
	counted  int64      // what the object counts for in its database's sum
}

// collection is the value of a key that is not a string.
type collection interface {
	// clone returns a copy whose changes do not show in the original. It is cheap for any size.
	clone() collection
	// blank returns an empty collection of the same kind.
	blank() collection
	// typeName is what TYPE answers.
	typeName() string
	// encoding is what OBJECT ENCODING answers.
	encoding() string
	// bytes is what the elements count for, see Keyspace.Used.
	bytes() int64
	// empty tells whether the key must go, since Redis has no empty collections.
	empty() bool
	// len is the number of elements.
	len() int
}

func (o *object) typeName() string {
	if o.coll == nil {
		return "string"
	}
	return o.coll.typeName()
}

// shortString is the length up to which Redis keeps a string in one piece with its object.
const shortString = 44

// encoding is what OBJECT ENCODING answers. Redis also remembers how a string was made; we tell by the value alone.
func (o *object) encoding() string {
	if o.coll != nil {
		return o.coll.encoding()
	}
	if _, err := args.Int(o.str); err == nil {
		return "int"
	}
	if len(o.str) <= shortString {
		return "embstr"
	}
	return "raw"
}

// cloneFor returns a copy that the step owner may modify.
func (o *object) cloneFor(owner uint64) *object {
	c := *o
	c.owner = owner
	if o.coll != nil {
		c.coll = o.coll.clone()
	}
	return &c
}

// blank returns a copy with an empty value.
func (o *object) blank() *object {
	c := *o
	if o.coll != nil {
		c.coll = o.coll.blank()
	}
	return &c
}
