package poll

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// socket is a file descriptor that does not block. Any goroutine may use it, also when it is closed.
type socket struct {
	mu sync.RWMutex // held for reading while fd is used, so that it is no other file's
	fd int          // -1 when it is closed
}

// adopt takes a second descriptor of a connection's socket.
func (s *socket) adopt(conn net.Conn) error {
	s.fd = -1
	of, ok := conn.(syscall.Conn)
	if !ok {
		return ErrUnsupported
	}
	raw, err := of.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { s.fd, failed = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) })
	return errors.Join(err, failed)
}

// read reads what is there. At the end of input it is io.EOF.
func (s *socket) read(p []byte) (int, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.fd < 0 {
		return 0, net.ErrClosed
	}
	n, err := again(syscall.Read, s.fd, p)
	if err == nil && n == 0 {
		return 0, io.EOF
	}
	return n, err
}

func (s *socket) write(p []byte) (int, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.fd < 0 {
		return 0, net.ErrClosed
	}
	return again(syscall.Write, s.fd, p)
}

// again repeats a call that a signal has interrupted.
func again(call func(fd int, p []byte) (int, error), fd int, p []byte) (int, error) {
	for {
		n, err := call(fd, p)
		switch {
		case err == nil:
			return n, nil
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return 0, errNothing
		default:
			return 0, os.NewSyscallError("socket", err)
		}
	}
}

func (s *socket) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fd < 0 {
		return net.ErrClosed
	}
	fd := s.fd
	s.fd = -1
	return unix.Close(fd)
}

// HungUp tells whether the peer of a connection has ended its side, or the connection has failed, also when that is behind bytes
// that were not read yet. Of what is no socket it tells nothing.
func HungUp(conn net.Conn) (yes bool) {
	switch c := conn.(type) {
	case *Conn:
		c.socket.mu.RLock()
		defer c.socket.mu.RUnlock()
		return hungUp(c.socket.fd)
	case syscall.Conn:
		raw, err := c.SyscallConn()
		if err != nil {
			return false
		}
		err = raw.Control(func(fd uintptr) { yes = hungUp(int(fd)) })
		return yes || errors.Is(err, net.ErrClosed)
	}
	return false
}

func hungUp(fd int) bool {
	if fd < 0 {
		return true
	}
	const ended = unix.POLLRDHUP | unix.POLLHUP | unix.POLLERR
	list := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
	n, err := unix.Poll(list, 0)
	return err == nil && n > 0 && list[0].Revents&ended != 0
}
