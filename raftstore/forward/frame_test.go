package forward

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"reflect"
	"strings"
	"testing"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/raftstore/entry"
)

var frames = []struct {
	name  string
	frame Frame
	wire  string
}{
	{"hello", Frame{Kind: Hello, Server: "a-1", Origin: "a-1.x"}, "\x00\x00\x00\x0bH\x03a-1\x05a-1.x"},
	{"welcome", Frame{Kind: Welcome, Term: 300}, "\x00\x00\x00\x03W\xac\x02"},
	{"close", Frame{Kind: Close, Session: 7}, "\x00\x00\x00\x02C\x07"},
	{
		"answer",
		Frame{Kind: Answer, Round: 4, Seq: 9, Fate: Lost, Cut: true, Reply: resp.Err("ERR x")},
		"\x00\x00\x00\x0cA\x04\x09\x03\x01\x03\x05ERR x",
	},
	{"ping", Frame{Kind: Ping, Seq: 1}, "\x00\x00\x00\x02P\x01"},
	{"pong", Frame{Kind: Pong, Seq: 1, Term: 2}, "\x00\x00\x00\x03Q\x01\x02"},
	{
		"submit",
		Frame{
			Kind: Submit, Session: 1, Round: 4, Seq: 2, Acked: 1, Age: 5, Logged: true,
			Call: &commands.Call{Requests: []*commands.Request{{DB: 1, Args: []string{"GET", "k"}}}},
		},
		"\x00\x00\x00\x10S\x01\x04\x02\x01\x05\x01\x00\x01\x02\x03GET\x01k",
	},
}

// TestGoldenFrames: members of two versions talk to each other.
func TestGoldenFrames(t *testing.T) {
	for _, tt := range frames {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(Append(nil, tt.frame)); got != tt.wire {
				t.Errorf("%q, want %q", got, tt.wire)
			}
			got, err := Read(bufio.NewReader(strings.NewReader(tt.wire)))
			if err != nil {
				t.Fatal(err)
			}
			want := tt.frame
			if want.Call != nil {
				want.Decoded = entry.Call{Lines: []entry.Line{{DB: 1, Args: []string{"GET", "k"}}}}
				want.Call = nil
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("read %+v, want %+v", got, want)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	for _, tt := range frames {
		f.Add([]byte(tt.wire))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bufio.NewReader(bytes.NewReader(data))
		for range len(data) + 1 {
			if _, err := Read(r); err != nil {
				if !errors.Is(err, ErrFrame) && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Fatal(err)
				}
				return
			}
		}
	})
}

// TestAtHand cuts two frames off everywhere: only what is there as a whole can be read without waiting.
func TestAtHand(t *testing.T) {
	one := Append(nil, Frame{Kind: Pong, Seq: 1, Term: 2})
	both := Append(bytes.Clone(one), Frame{Kind: Ping, Seq: 300})
	for n := range len(both) + 1 {
		r, whole := bufio.NewReader(bytes.NewReader(both[:n])), 0
		_, _ = r.Peek(n)
		for AtHand(r) {
			if _, err := Read(r); err != nil {
				t.Fatalf("%d bytes: %v", n, err)
			}
			whole++
		}
		want := 0
		if n >= len(one) {
			want = 1
		}
		if n == len(both) {
			want = 2
		}
		if whole != want {
			t.Errorf("%d bytes: %d frames at hand, want %d", n, whole, want)
		}
	}
}

// TestPiledFramesGoTogether: what was piled up is one write.
func TestPiledFramesGoTogether(t *testing.T) {
	near, far := net.Pipe()
	o := NewOutbox(near)
	go o.Run()
	defer o.Close()
	for n := range uint64(3) {
		o.Pile(Frame{Kind: Ping, Seq: n})
	}
	o.Flush()
	got, want := make([]byte, 1024), 3*len(Append(nil, Frame{Kind: Ping}))
	if n, err := far.Read(got); err != nil || n != want {
		t.Errorf("read %d bytes at once, %v, want %d", n, err, want)
	}
}

func TestOutboxKeepsTheOrder(t *testing.T) {
	near, far := net.Pipe()
	o := NewOutbox(near)
	go o.Run()
	go func() {
		for n := range uint64(1000) {
			o.Put(Frame{Kind: Ping, Seq: n})
		}
	}()
	r := bufio.NewReader(far)
	for n := range uint64(1000) {
		if f, err := Read(r); err != nil || f.Seq != n {
			t.Fatalf("read %+v, %v, want %d", f, err, n)
		}
	}
	o.Close()
	o.Put(Frame{Kind: Ping})
	if _, err := Read(r); !errors.Is(err, io.EOF) {
		t.Errorf("error %v after Close", err)
	}
}
