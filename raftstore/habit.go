package raftstore

import (
	"crypto/sha1" //nolint:gosec // only for the length of the name that Redis gives a script
	"strings"

	"github.com/redfence/redfence/raftstore/script"
)

// Bounds of habits.
const (
	maxHabits = 1024 // scripts remembered; then all are forgotten
	maxSkips  = 15   // tries left out at most before the next one
)

// habits remember which scripts mostly change something, such as a release by the holder: to try them without the
// log only makes them run twice. It decides about speed, never about a result.
type habits map[string]*habit // by habitName

type habit struct {
	skips int // tries to leave out after the next one that is in vain
	left  int // tries still to leave out
}

// habitName is the name of a script in habits: what the request says, or the SHA1 of a text, so that texts are not kept.
func habitName(said string) string {
	if len(said) > sha1.Size*2 {
		return script.SHA1Hex(said)
	}
	return said
}

// skip tells whether to leave out a try, and counts it.
func (h habits) skip(name string) bool {
	known := h[name]
	if known == nil || known.left == 0 {
		return false
	}
	known.left--
	return true
}

// note takes down how a try ended. A try in vain doubles the tries that are left out; one that was enough ends that.
func (h habits) note(name string, enough bool) {
	known := h[name]
	switch {
	case enough && known != nil:
		*known = habit{}
	case !enough && known != nil:
		known.skips = min(2*known.skips+1, maxSkips)
		known.left = known.skips
	case !enough:
		if len(h) == maxHabits {
			clear(h)
		}
		h[strings.Clone(name)] = &habit{}
	}
}
