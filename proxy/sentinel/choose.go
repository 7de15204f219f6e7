package sentinel

import "time"

// Rules say when another member is named.
type Rules struct {
	// Settle is how long somebody must have led before it is named. Meanwhile the one before stays named, which goes on
	// serving, if it lives, by passing requests on.
	Settle time.Duration
	// Keep is for how long the last one stays named when nobody is known to lead.
	Keep time.Duration
}

// named is the master that the faces name.
type named struct {
	id    string
	addr  string // host:port; empty when no master was ever named
	epoch uint64
	seen  time.Time // when it was last known to be right
	valid bool      // it may be named now
}

// next decides what is named after one more look. It is a function of its arguments.
func (r Rules) next(was named, v View, now time.Time) named {
	if v.Lead.ID == "" {
		was.valid = was.addr != "" && r.Keep > 0 && now.Sub(was.seen) < r.Keep
		return was
	}
	lead, _ := v.member(v.Lead.ID)
	switch {
	case lead.Card.Data == "" || lead.ID != was.id && v.Lead.For < r.Settle:
		was.valid = was.addr != ""
		return was
	default:
		return named{id: lead.ID, addr: lead.Card.Data, epoch: v.Lead.Epoch, seen: now, valid: true}
	}
}
