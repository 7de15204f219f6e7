package entry

import (
	"encoding/hex"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/redfence/redfence/commands"
)

func call(block bool, lines ...Line) *commands.Call {
	c := &commands.Call{Block: block}
	for _, l := range lines {
		c.Requests = append(c.Requests, &commands.Request{DB: l.DB, Args: l.Args})
	}
	return c
}

func line(db int, args ...string) Line { return Line{DB: db, Args: args} }

// sample has every feature of version 1. Never change it: testdata/v1.hex is what released builds wrote for it.
func sample() (Entry, []*commands.Call) {
	set, get := line(0, "SET", "k", "v\x00\xff", "NX", "PX", "30000"), line(15, "GET", "")
	watched := []commands.Watch{{Key: "k", Since: 1 << 40, Present: true}, {DB: 15, Key: "", Since: 0}}
	e := Entry{Header: Header{Now: 123456, Wall: 1_796_000_000_000_001, MaxMemory: 1 << 30}, Calls: []Call{
		{Lines: []Line{set}},
		{Block: true, Lines: []Line{get, set}},
		{Block: true},
		{Block: true, Watched: watched, Lines: []Line{set}},
		{Block: true, Watched: watched},
	}}
	dependent, empty := call(true, set), call(true)
	dependent.Watched, empty.Watched = watched, watched
	return e, []*commands.Call{call(false, set), call(true, get, set), call(true), dependent, empty}
}

func TestGoldenBytes(t *testing.T) {
	want, calls := sample()
	golden, err := os.ReadFile("testdata/v1.hex")
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(Append(nil, want.Header, calls)); got != strings.TrimSpace(string(golden)) {
		t.Errorf("version 1 is written in another way:\n got %s\nwant %s", got, golden)
	}
	data, err := hex.DecodeString(strings.TrimSpace(string(golden)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("decoded %+v, want %+v", got, want)
	}
}

func TestDecodeRefusesDamage(t *testing.T) {
	e, calls := sample()
	good := Append(nil, e.Header, calls)
	for at := range good {
		if _, err := Decode(good[:at]); !errors.Is(err, ErrCorrupt) {
			t.Errorf("cut at %d: error %v", at, err)
		}
	}
	for name, data := range map[string][]byte{
		"empty":               {},
		"another version":     append([]byte{5}, good[1:]...),
		"bytes behind":        append(append([]byte{}, good...), 0),
		"a huge call count":   {1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f},
		"a limit too large":   {1, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0},
		"an unknown flag":     {1, 0, 0, 0, 1, 8, 0, 1, 1, 'x'},
		"a name in version 1": {1, 0, 0, 0, 1, 4, 1, 1, 0, 1, 1, 'x'},
		"an unknown origin":   {2, 0, 0, 0, 1, 1, 'o', 0, 1, 4, 2, 1, 0, 1, 1, 'x'},
		"nobody's name":       {2, 0, 0, 0, 1, 1, 'o', 0, 1, 4, 0, 1, 0, 1, 1, 'x'},
		"watched, no block":   {1, 0, 0, 0, 1, 2, 1, 0, 0, 0, 0, 0, 1, 1, 'x'},
		"a huge watch count":  {1, 0, 0, 0, 1, 3, 0xff, 0xff, 0xff, 0xff, 0x0f},
		"nothing watched":     {1, 0, 0, 0, 1, 3, 0, 0},
		"present is 2":        {1, 0, 0, 0, 1, 3, 1, 0, 0, 2, 0, 0},
		"a line without name": {1, 0, 0, 0, 1, 0, 0, 0},
		"no memory":           {3, 0, 0, 0, 0, 0},
		"a huge memory":       {3, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0},
	} {
		if _, err := Decode(data); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestSizeIsABound(t *testing.T) {
	_, calls := sample()
	for _, c := range calls {
		if got := len(appendCall(nil, c, ID{From: 1 << 20, Seq: 1 << 63})); got > Size(c) {
			t.Errorf("Size says %d, written are %d", Size(c), got)
		}
	}
}

func FuzzDecode(f *testing.F) {
	e, calls := sample()
	f.Add(Append(nil, e.Header, calls))
	f.Add([]byte{1, 0, 0, 0, 1, 1, 0xff, 0xff, 0xff, 0xff, 0x0f})
	e.FenceMemory = 60_000
	f.Add(Append(nil, e.Header, calls))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := Decode(data)
		if err != nil {
			return
		}
		var again []*commands.Call
		for _, c := range e.Calls {
			written := call(c.Block, c.Lines...)
			written.Watched = c.Watched
			again = append(again, written)
		}
		back, err := Decode(write(e, again))
		if err != nil {
			t.Fatalf("what was decoded does not encode: %v", err)
		}
		if !reflect.DeepEqual(back, e) {
			t.Fatalf("%+v became %+v", e, back)
		}
	})
}

// write writes an entry in its version.
func write(e Entry, calls []*commands.Call) []byte {
	if e.Origins == nil {
		return Append(nil, e.Header, calls)
	}
	ids := make([]ID, len(e.Calls))
	for i, c := range e.Calls {
		ids[i] = c.ID
	}
	return AppendNamed(nil, e.Header, e.Origins, calls, ids)
}

// namedSample has every feature of version 2. Never change it either.
func namedSample() (Entry, []*commands.Call) {
	e, calls := sample()
	e.Origins = []Origin{{Name: "a-1.x", Acked: 7}, {Name: "b-2.y"}}
	e.Calls[0].ID, e.Calls[2].ID, e.Calls[3].ID = ID{1, 8}, ID{2, 1 << 40}, ID{1, 9}
	return e, calls
}

func TestGoldenBytesOfNamedCalls(t *testing.T) {
	want, calls := namedSample()
	checkGolden(t, "testdata/v2.hex", want, calls)
}

// TestGoldenBytesWithAMemory pins versions 3 and 4, which have a FenceMemory.
func TestGoldenBytesWithAMemory(t *testing.T) {
	want, calls := sample()
	want.FenceMemory = 60_000
	checkGolden(t, "testdata/v3.hex", want, calls)
	want, calls = namedSample()
	want.FenceMemory = 60_000
	checkGolden(t, "testdata/v4.hex", want, calls)
}

// checkGolden checks that an entry is written as in a file, is read back, and that no part of it is taken for the whole.
func checkGolden(t *testing.T, file string, want Entry, calls []*commands.Call) {
	t.Helper()
	golden, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(write(want, calls)); got != strings.TrimSpace(string(golden)) {
		t.Errorf("%s is written in another way:\n got %s\nwant %s", file, got, golden)
	}
	data, err := hex.DecodeString(strings.TrimSpace(string(golden)))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Decode(data); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("decoded %+v, %v, want %+v", got, err, want)
	}
	for at := range data {
		if _, err := Decode(data[:at]); !errors.Is(err, ErrCorrupt) {
			t.Errorf("cut at %d: error %v", at, err)
		}
	}
}
