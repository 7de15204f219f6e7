// Package cluster is what members of a Raft cluster talk over: one port for everything, whose connections begin with a
// greeting that says who calls whom, for what, and in which cluster.
package cluster

import (
	"context"
	"net"
)

// The kinds of connections, the first byte of each.
const (
	Raft    byte = 'R' // RPCs of the Raft library
	Forward byte = 'F' // calls of clients, from a follower to the leader
	Member  byte = 'M' // questions about the cluster and changes of its members: one question, one answer
)

// Port is where a member meets the others. Its methods may be called from any goroutine.
type Port interface {
	// Dial opens a connection of a kind to the member at addr (host:port; names are resolved at every call). It returns
	// when the other side has agreed to it; an error wraps ErrRefused when it has not. ctx bounds only the dialling.
	Dial(ctx context.Context, addr string, kind byte) (net.Conn, error)
	// Handle makes serve take the connections of a kind that others open, each on a goroutine of its own. It must close
	// the connection before it returns. Connections of a kind that nobody handles are refused. When the port closes it
	// closes all accepted connections and waits until each serve has returned.
	Handle(kind byte, serve func(net.Conn))
	// Addr is the address under which others reach this port.
	Addr() string
}

var _ Port = (*TCP)(nil)
