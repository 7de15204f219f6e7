//go:build !linux

package poll

import "net"

// Loop is not there on this system.
type Loop struct{}

// New returns ErrUnsupported.
func New(func()) (*Loop, error) { return nil, ErrUnsupported }

// Close does nothing.
func (*Loop) Close() error { return nil }

func (*Loop) add(*Conn) error { return ErrUnsupported }
func (*Loop) forget(*Conn)    {}

// socket is nothing on this system.
type socket struct{}

func (*socket) adopt(net.Conn) error      { return ErrUnsupported }
func (*socket) read([]byte) (int, error)  { return 0, net.ErrClosed }
func (*socket) write([]byte) (int, error) { return 0, net.ErrClosed }
func (*socket) close() error              { return net.ErrClosed }

// HungUp cannot tell on this system.
func HungUp(net.Conn) bool { return false }
