package cluster

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"
)

// open opens a port on loopback that echoes what Forward, Raft and Member connections say.
func open(t *testing.T, id, cluster string) *TCP {
	t.Helper()
	p, err := Listen(Config{
		Listen: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler),
		Self: func() Self { return Self{ID: id, Cluster: cluster} },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
	echo(p)
	return p
}

// echo makes a port say what is said to it.
func echo(p *TCP) {
	for _, kind := range []byte{Raft, Forward, Member} {
		p.Handle(kind, func(conn net.Conn) {
			defer conn.Close()
			_, _ = io.Copy(conn, conn)
		})
	}
}

func patience(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestGoldenGreeting(t *testing.T) {
	g := greeting{kind: Raft, cluster: "c0ffee", from: "a-1", to: "b-2"}
	got, err := g.append(nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := "R\x01\x06c0ffee\x03a-1\x03b-2"; string(got) != want {
		t.Errorf("%q, want %q: members of two versions talk to each other", got, want)
	}
	back, err := readGreeting(bytes.NewReader(got))
	if err != nil || back != g {
		t.Errorf("read back %+v, %v", back, err)
	}
	for n := range got {
		if _, err := readGreeting(bytes.NewReader(got[:n])); err == nil {
			t.Errorf("the first %d bytes were taken for a greeting", n)
		}
	}
}

func TestWhoMayTalk(t *testing.T) {
	tests := []struct {
		name     string
		from, to Self
		target   string
		kind     byte
		because  string // it is refused
	}{
		{name: "members of one cluster", from: Self{"a-1", "X"}, to: Self{"b-1", "X"}, target: "b-1", kind: Raft},
		{name: "whoever is there", from: Self{"a-1", "X"}, to: Self{"b-1", "X"}, kind: Forward},
		{name: "a question from outside", from: Self{"a-1", "Y"}, to: Self{"b-1", "X"}, kind: Member},
		{
			name: "a new self at the old address", from: Self{"a-1", "X"}, to: Self{"b-2", "X"}, target: "b-1", kind: Raft,
			because: "this is b-2, not b-1",
		},
		{
			name: "another cluster", from: Self{"a-1", "Y"}, to: Self{"b-1", "X"}, kind: Raft,
			because: "b-1 belongs to cluster X, not to Y",
		},
		{name: "one without a cluster votes for nobody", from: Self{"a-1", "X"}, to: Self{"b-1", ""}, kind: Raft, because: "no cluster yet"},
		{name: "unknown kind", from: Self{"a-1", "X"}, to: Self{"b-1", "X"}, kind: 'Z', because: "kind 'Z'"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, b := open(t, tt.from.ID, tt.from.Cluster), open(t, tt.to.ID, tt.to.Cluster)
			conn, err := a.DialMember(patience(t), b.Addr(), tt.target, tt.kind)
			if tt.because != "" {
				if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), tt.because) {
					t.Fatalf("error %v, want ErrRefused with %q", err, tt.because)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			echoes(t, conn)
		})
	}
}

func echoes(t *testing.T, conn net.Conn) {
	t.Helper()
	if _, err := conn.Write([]byte("ping")); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 4)
	if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != "ping" {
		t.Fatalf("%q, %v", answer, err)
	}
}

func TestCloseEndsWhatWasAccepted(t *testing.T) {
	a, b := open(t, "a-1", "X"), open(t, "b-1", "X")
	conn, err := a.Dial(patience(t), b.Addr(), Forward)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	echoes(t, conn)
	closed := make(chan struct{})
	go func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		close(closed)
	}()
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is still open")
	}
	<-closed
}

// TestASilentListenerDoesNotHang: the context bounds the wait for an answer to the greeting.
func TestASilentListenerDoesNotHang(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := open(t, "a-1", "X").Dial(ctx, l.Addr().String(), Raft); err == nil {
		t.Error("a listener that says nothing was taken for a member")
	}
}
