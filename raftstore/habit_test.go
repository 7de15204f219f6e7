package raftstore

import (
	"strconv"
	"testing"
)

func TestHabits(t *testing.T) {
	h := habits{}
	tries := 0
	for range 1000 {
		if !h.skip("release") {
			tries++
			h.note("release", false)
		}
	}
	if tries > 1000/maxSkips+5 {
		t.Errorf("%d tries of a script that always changes something", tries)
	}
	for h.skip("release") {
	}
	h.note("release", true)
	for range 10 {
		if h.skip("release") {
			t.Fatal("a try was left out after one that was enough")
		}
		h.note("release", true)
	}
	for i := range 10 * maxHabits {
		h.note(strconv.Itoa(i), false)
	}
	if len(h) > maxHabits {
		t.Errorf("%d scripts remembered", len(h))
	}
}
