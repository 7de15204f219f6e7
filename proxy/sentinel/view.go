package sentinel

import (
	"cmp"
	"slices"
	"time"
)

// Card is what a process tells the others about itself.
type Card struct {
	Data  string   `json:"data"`            // host:port at which clients use locks
	Faces []string `json:"faces,omitempty"` // host:port of each address that answers as a Sentinel
}

// Member is a process of the cluster, as far as this one knows it.
type Member struct {
	ID     string // tells members apart; the same in the eyes of all
	Card   Card   // empty when it has not told yet
	Silent time.Duration
}

// up tells whether the member was heard of lately.
func (m Member) up() bool { return m.Silent < downAfter }

// downAfter is how long a member may not be heard of before the faces call it down.
const downAfter = 5 * time.Second

// Lead says who leads, in the eyes of this process.
type Lead struct {
	ID    string        // of a member; empty when nobody is known to lead
	Epoch uint64        // grows when somebody else begins to lead
	For   time.Duration // how long it has led, as far as this process knows
}

// View is what one process knows of the cluster at a moment.
type View struct {
	Self    string // ID of this process
	Members []Member
	Lead    Lead
}

// sorted returns the members in the order of their IDs, which is the same for all.
func (v View) sorted() []Member {
	return slices.SortedFunc(slices.Values(v.Members), func(a, b Member) int { return cmp.Compare(a.ID, b.ID) })
}

// member returns the member of an ID.
func (v View) member(id string) (Member, bool) {
	i := slices.IndexFunc(v.Members, func(m Member) bool { return m.ID == id })
	if i < 0 {
		return Member{}, false
	}
	return v.Members[i], true
}
