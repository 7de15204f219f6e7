package raftstore

import (
	"bytes"
	"testing"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/raftstore/entry"
	"github.com/redfence/redfence/raftstore/script"
)

// counted applies INCR n under a name and returns the reply.
func counted(t *testing.T, m *machine, now int64, origin string, seq, acked uint64) resp.Value {
	t.Helper()
	return m.apply(&work{
		Header: entry.Header{Now: now, Wall: 1}, origins: []entry.Origin{{Name: origin, Acked: acked}},
		ids:   []entry.ID{{From: 1, Seq: seq}},
		calls: []*commands.Call{{Requests: []*commands.Request{request(t, "INCR", "n")}}},
	}, noSink{})[0]
}

func TestACallThatComesAgainIsNotRunAgain(t *testing.T) {
	steps := []struct {
		name       string
		now        int64
		origin     string
		seq, acked uint64
		want       int64 // 0: refused
	}{
		{"the first", 1, "a", 1, 0, 1},
		{"it again", 2, "a", 1, 0, 1},
		{"the second", 3, "a", 2, 0, 2},
		{"the first once more", 4, "a", 1, 0, 1},
		{"another origin", 5, "b", 1, 0, 3},
		{"out of order", 6, "a", 5, 1, 4},
		{"one that nobody waits for", 7, "a", 1, 1, 0},
		{"the second again", 8, "a", 2, 1, 2},
		{"between them", 9, "a", 4, 1, 5},
		{"the fifth again", 10, "a", 5, 4, 4},
		{"never come before, but given up", 11, "a", 3, 4, 0},
		{"an old acknowledgement", 12, "a", 5, 1, 4},
		{"others, a minute on", 70_000, "b", 2, 0, 6},
		{"forgotten by then", 70_001, "a", 5, 0, 7},
	}
	one, two := newMachine(script.DefaultLimits()), newMachine(script.DefaultLimits())
	for _, s := range steps {
		got := counted(t, one, s.now, s.origin, s.seq, s.acked)
		if got.Int() != s.want || got.IsErr() != (s.want == 0) {
			t.Errorf("%s: %+v, want %d", s.name, got, s.want)
		}
		two = throughSnapshot(t, two, script.DefaultLimits())
		if again := counted(t, two, s.now, s.origin, s.seq, s.acked); again.Int() != got.Int() || again.Str != got.Str {
			t.Errorf("%s: %+v with a snapshot before, %+v without", s.name, again, got)
		}
		if !bytes.Equal(stateOf(t, one), stateOf(t, two)) {
			t.Errorf("%s: the states differ", s.name)
		}
	}
}

func TestASnapshotOfOneNodeIsWhatItWas(t *testing.T) {
	m := newMachine(script.DefaultLimits())
	m.apply(&work{Header: entry.Header{Now: 1, Wall: 1}, calls: []*commands.Call{{Requests: []*commands.Request{request(t, "SET", "k", "v")}}}}, noSink{})
	var keys bytes.Buffer
	if _, err := m.view().keys.WriteTo(&keys); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(keys.Bytes(), stateOf(t, m)) {
		t.Error("it has a section of remembered calls")
	}
}

func TestDamagedMemoryIsRefused(t *testing.T) {
	m := newMachine(script.DefaultLimits())
	counted(t, m, 1, "a", 1, 0)
	var section bytes.Buffer
	if err := m.view().ran.writeTo(&section); err != nil {
		t.Fatal(err)
	}
	for at := range section.Len() {
		state := stateOf(t, m)
		state[at] ^= 0x40
		if err := newMachine(script.DefaultLimits()).restore(bytes.NewReader(state)); err == nil {
			t.Errorf("byte %d of %d damaged: no error", at, section.Len())
		}
	}
}
