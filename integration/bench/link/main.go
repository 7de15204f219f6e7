// Command link is a small network: it carries bytes between each of its clients and one server, and delivers them half a round
// trip after they came, each way, in order. What the way through this process takes by itself comes on top.
//
// Usage: link ROUND-TRIP HOST:PORT, such as link 250us 127.0.0.1:6379. It prints where it listens.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

func main() {
	fmt.Fprintln(os.Stderr, "link:", run(os.Args[1:]))
	os.Exit(1)
}

// run serves until that cannot be done.
func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: link ROUND-TRIP HOST:PORT")
	}
	roundTrip, err := time.ParseDuration(args[0])
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("link ready listen=%v\n", l.Addr())
	for {
		client, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			if err := serve(client, args[1], roundTrip/2); err != nil {
				fmt.Fprintln(os.Stderr, "link:", err)
			}
		}()
	}
}

// serve connects a client with the server until either hangs up.
func serve(client net.Conn, addr string, delay time.Duration) error {
	defer client.Close()
	server, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer server.Close()
	back := make(chan error, 1)
	go func() {
		back <- carry(client, server, delay)
		client.Close() // ends the other direction
	}()
	err = carry(server, client, delay)
	server.Close()
	return errors.Join(err, <-back)
}

// parcel is what was read at once, and when it is to arrive.
type parcel struct {
	bytes []byte
	due   time.Time
}

// mostParcels is how many may be on their way at once.
const mostParcels = 1024

// carry takes bytes from one side to the other until either ends, which is no error. Go sends small packets at once (TCP_NODELAY).
func carry(to io.Writer, from io.Reader, delay time.Duration) error {
	clock, err := newAlarm()
	if err != nil {
		return err
	}
	defer clock.Close() //nolint:errcheck // there is nothing to lose
	way, gone := make(chan parcel, mostParcels), make(chan struct{})
	defer close(gone)
	go collect(way, gone, from, delay)
	for p := range way {
		if err := clock.wait(time.Until(p.due)); err != nil {
			return err
		}
		if _, err := to.Write(p.bytes); err != nil {
			return nil //nolint:nilerr // the receiver has hung up
		}
	}
	return nil
}

// collect reads parcels until there are no more, or nobody takes them.
func collect(way chan<- parcel, gone <-chan struct{}, from io.Reader, delay time.Duration) {
	defer close(way)
	for buf := make([]byte, 64<<10); ; {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		select {
		case way <- parcel{bytes.Clone(buf[:n]), time.Now().Add(delay)}:
		case <-gone:
			return
		}
	}
}
