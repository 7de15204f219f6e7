package main

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"
)

// TestALinkDeliversInOrder sends parcels faster than they arrive, and gets them back from a server that returns all.
func TestALinkDeliversInOrder(t *testing.T) {
	const roundTrip, parcels = 20 * time.Millisecond, 50
	client := through(t, echo(t), roundTrip)
	began := time.Now()
	var sent bytes.Buffer
	for i := range parcels {
		p := bytes.Repeat([]byte{byte(i)}, 1000*i+1)
		sent.Write(p)
		if _, err := client.Write(p); err != nil {
			t.Fatal(err)
		}
	}
	got := make([]byte, sent.Len())
	if _, err := io.ReadFull(client, got[:1]); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < roundTrip {
		t.Errorf("the first byte came back after %v", took)
	}
	if _, err := io.ReadFull(client, got[1:]); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, sent.Bytes()) {
		t.Error("not what was sent")
	}
}

// TestALinkEndsWithEither closes the side of the client, then that of the server.
func TestALinkEndsWithEither(t *testing.T) {
	addr, accepted := serverOnce(t)
	client := through(t, addr, 0)
	server := <-accepted
	defer server.Close()
	client.Close()
	if _, err := server.Read(make([]byte, 1)); err == nil {
		t.Error("the server's connection is open")
	}
	addr, accepted = serverOnce(t)
	client = through(t, addr, 0)
	(<-accepted).Close()
	if _, err := client.Read(make([]byte, 1)); err == nil {
		t.Error("the client's connection is open")
	}
}

// through connects to a server by a link.
func through(t *testing.T, addr string, roundTrip time.Duration) net.Conn {
	t.Helper()
	at, accepted := serverOnce(t)
	client, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	if err := client.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- serve(<-accepted, addr, roundTrip/2) }()
	t.Cleanup(func() {
		client.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return client
}

// serverOnce listens for one connection.
func serverOnce(t *testing.T) (addr string, accepted <-chan net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	conns := make(chan net.Conn, 1)
	go func() {
		if c, err := l.Accept(); err == nil {
			conns <- c
		}
	}()
	return l.Addr().String(), conns
}

// echo is a server that returns what it is sent.
func echo(t *testing.T) (addr string) {
	t.Helper()
	addr, accepted := serverOnce(t)
	go func() {
		c := <-accepted
		defer c.Close()
		_, _ = io.Copy(c, c)
	}()
	return addr
}
