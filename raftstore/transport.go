package raftstore

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/redfence/redfence/raftstore/cluster"
)

const (
	// rpcTimeout is how long an RPC of Raft may take; for a snapshot the library adds time for its size.
	rpcTimeout = 5 * time.Second
	// pooledConns is how many idle connections are kept to each member.
	pooledConns = 3
)

// transport is the library's over the cluster port. It dials a member by its server id and address, so that whoever else
// has come to that address refuses: a member whose disk was lost would give the vote of its old self, for which it has
// forgotten what it has promised.
//
// It tells no member of more that is committed than this node has on disk: see aheadLog.
type transport struct {
	*raft.NetworkTransport
	log *aheadLog
}

func newTransport(port *cluster.TCP, log *aheadLog, logger hclog.Logger) transport {
	layer := &layer{port: port, conns: make(chan net.Conn), closed: make(chan struct{})}
	port.Handle(cluster.Raft, layer.serve)
	return transport{raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: layer, MaxPool: pooledConns, Timeout: rpcTimeout, Logger: logger,
	}), log}
}

// idMark stands between a server id and an address. Neither has one.
const idMark = "@"

// named is the address under which the layer below dials exactly that member.
func named(id raft.ServerID, addr raft.ServerAddress) raft.ServerAddress {
	return raft.ServerAddress(id) + idMark + addr
}

// AppendEntriesPipeline implements raft.Transport.
func (t transport) AppendEntriesPipeline(id raft.ServerID, at raft.ServerAddress) (raft.AppendPipeline, error) {
	inner, err := t.NetworkTransport.AppendEntriesPipeline(id, named(id, at))
	if err != nil {
		return nil, err
	}
	return newPipeline(inner, t.log), nil
}

// AppendEntries implements raft.Transport.
func (t transport) AppendEntries(
	id raft.ServerID, at raft.ServerAddress, q *raft.AppendEntriesRequest, a *raft.AppendEntriesResponse,
) error {
	q.LeaderCommitIndex = t.log.onDisk(q.LeaderCommitIndex)
	return t.NetworkTransport.AppendEntries(id, named(id, at), q, a)
}

// RequestVote implements raft.Transport.
func (t transport) RequestVote(
	id raft.ServerID, at raft.ServerAddress, q *raft.RequestVoteRequest, a *raft.RequestVoteResponse,
) error {
	return t.NetworkTransport.RequestVote(id, named(id, at), q, a)
}

// RequestPreVote implements raft.WithPreVote.
func (t transport) RequestPreVote(
	id raft.ServerID, at raft.ServerAddress, q *raft.RequestPreVoteRequest, a *raft.RequestPreVoteResponse,
) error {
	return t.NetworkTransport.RequestPreVote(id, named(id, at), q, a)
}

// InstallSnapshot implements raft.Transport.
func (t transport) InstallSnapshot(
	id raft.ServerID, at raft.ServerAddress, q *raft.InstallSnapshotRequest, a *raft.InstallSnapshotResponse, r io.Reader,
) error {
	return t.NetworkTransport.InstallSnapshot(id, named(id, at), q, a, r)
}

// TimeoutNow implements raft.Transport.
func (t transport) TimeoutNow(
	id raft.ServerID, at raft.ServerAddress, q *raft.TimeoutNowRequest, a *raft.TimeoutNowResponse,
) error {
	return t.NetworkTransport.TimeoutNow(id, named(id, at), q, a)
}

var (
	_ raft.Transport   = transport{}
	_ raft.WithPreVote = transport{}
	_ raft.WithClose   = transport{}
)

// layer gives the library its connections of the cluster port.
type layer struct {
	port   *cluster.TCP
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// serve hands a connection to the library and returns when that has closed it.
func (l *layer) serve(conn net.Conn) {
	c := &layerConn{Conn: conn, closed: make(chan struct{})}
	select {
	case l.conns <- c:
		<-c.closed
	case <-l.closed:
		conn.Close()
	}
}

// Accept implements net.Listener.
func (l *layer) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Dial implements raft.StreamLayer, for an address that named has made.
func (l *layer) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	id, addr, _ := strings.Cut(string(address), idMark)
	return l.port.DialMember(ctx, addr, id, cluster.Raft)
}

// Addr implements net.Listener.
func (l *layer) Addr() net.Addr { return portAddr(l.port.Addr()) }

// Close implements net.Listener. The port stays open.
func (l *layer) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// layerConn tells when it is closed.
type layerConn struct {
	net.Conn
	closed chan struct{}
	once   sync.Once
}

// Close implements net.Conn.
func (c *layerConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// portAddr is an address as it was given: a name stays a name.
type portAddr string

// Network implements net.Addr.
func (portAddr) Network() string { return "tcp" }

func (a portAddr) String() string { return string(a) }
