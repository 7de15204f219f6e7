// Command copier is the least that a proxy can be: it copies bytes between each of its clients and one server, both ways.
// What the benchmark measures behind it is the price of one more process, whatever that process does.
//
// Usage: copier HOST:PORT. It prints where it listens.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: copier HOST:PORT")
		os.Exit(2)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, "copier:", err)
		os.Exit(1)
	}
	fmt.Printf("copier ready listen=%v\n", l.Addr())
	for {
		client, err := l.Accept()
		if err != nil {
			fmt.Fprintln(os.Stderr, "copier:", err)
			os.Exit(1)
		}
		go serve(client, os.Args[1])
	}
}

// serve connects a client with the server until either hangs up. Go sends small packets at once (TCP_NODELAY).
func serve(client net.Conn, addr string) {
	defer client.Close()
	server, err := net.Dial("tcp", addr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "copier:", err)
		return
	}
	defer server.Close()
	go func() {
		forward(client, server)
		client.Close() // ends the other direction
	}()
	forward(server, client)
}

// forward copies through a buffer of its own: by itself io.Copy would use splice(2) between two sockets, which is no faster
// with small packets. How a connection ends does not matter.
func forward(to io.Writer, from io.Reader) {
	_, _ = io.Copy(struct{ io.Writer }{to}, struct{ io.Reader }{from})
}
