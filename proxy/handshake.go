package proxy

import (
	"context"
	"crypto/tls"
	"net"
	"time"
)

const handshakeTimeout = 10 * time.Second

// takingTurns is a connection during its TLS handshake. To sign costs a processor a millisecond or so, and a crowd that
// connects would have all of them; so handshakes take turns, but for the time in which they wait for their peers: a peer
// that goes silent holds up nobody.
type takingTurns struct {
	net.Conn
	turns *turns
	over  bool // the handshake is; only the reader looks
}

// Read implements net.Conn.
func (c *takingTurns) Read(p []byte) (int, error) {
	if c.over {
		return c.Conn.Read(p)
	}
	c.turns.give()
	defer c.turns.take(nil)
	return c.Conn.Read(p)
}

// secure puts TLS on the session's connection.
func (s *session) secure(conf *tls.Config) {
	s.handshakes = &takingTurns{Conn: s.raw, turns: s.srv.handshaking}
	s.conn = tls.Server(s.handshakes, conf)
}

// handshake is nothing without TLS.
func (s *session) handshake() error {
	secured, ok := s.conn.(*tls.Conn)
	if !ok {
		return nil
	}
	s.giveTurn()
	s.handshakes.turns.take(nil)
	defer s.handshakes.end()
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTimeout)
	defer cancel()
	return secured.HandshakeContext(ctx)
}

func (c *takingTurns) end() {
	c.over = true
	c.turns.give()
}
