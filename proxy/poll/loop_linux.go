package poll

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// most is how many events are taken at once.
const most = 128

// watched are the events of a connection. Each is told once: for input when more has come, for room when there was none.
const watched = unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET

// over are the events behind which a read tells what has happened, and behind which no other may come
// (https://man7.org/linux/man-pages/man7/epoll.7.html).
const over = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR

// Loop waits for input of many connections.
type Loop struct {
	behind func() // called behind each round of events
	fd     int
	file   *os.File // of fd
	done   chan struct{}

	mu    sync.Mutex
	conns map[uint64]*Conn
	last  uint64
}

// New starts a loop. It calls behind after each round of events that it has handled.
func New(behind func()) (*Loop, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("poll: %w", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil { // has os wait for it as for a socket
		_ = unix.Close(fd)
		return nil, fmt.Errorf("poll: %w", err)
	}
	l := &Loop{behind: behind, fd: fd, file: os.NewFile(uintptr(fd), "epoll"), done: make(chan struct{}), conns: map[uint64]*Conn{}}
	raw, err := l.file.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, l.file.Close())
	}
	go l.run(raw)
	return l, nil
}

// Close ends the loop. Its connections must be closed before.
func (l *Loop) Close() error {
	err := l.file.Close()
	<-l.done
	return err
}

// run handles events until the loop is closed. It sleeps as goroutines that wait for a socket do: so it costs no thread, and
// the first thread that finds nothing to do goes on with it.
func (l *Loop) run(raw syscall.RawConn) {
	defer close(l.done)
	events, list := make([]unix.EpollEvent, most), make([]*Conn, most)
	_ = raw.Read(func(fd uintptr) bool {
		for {
			n, err := unix.EpollWait(int(fd), events, 0)
			switch {
			case errors.Is(err, unix.EINTR):
				continue
			case n <= 0:
				return err != nil
			}
			l.find(events[:n], list)
			for i, c := range list[:n] {
				if c != nil {
					c.happened(events[i].Events)
				}
			}
			clear(list)
			l.behind()
		}
	})
}

func (c *Conn) happened(events uint32) {
	if events&(unix.EPOLLIN|over) != 0 {
		c.ready(events&over != 0)
	}
	if events&(unix.EPOLLOUT|over) != 0 {
		c.wakeWriter()
	}
}

// find looks up the connections of events. Those that are closed meanwhile are nil.
func (l *Loop) find(events []unix.EpollEvent, list []*Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, e := range events {
		list[i] = l.conns[uint64(uint32(e.Fd))<<32|uint64(uint32(e.Pad))]
	}
}

// add begins to watch a connection. The first event comes at once.
func (l *Loop) add(c *Conn) error {
	l.mu.Lock()
	l.last++
	c.id = l.last
	l.conns[c.id] = c
	l.mu.Unlock()
	e := unix.EpollEvent{Events: watched, Fd: int32(c.id >> 32), Pad: int32(c.id)}
	err := unix.EpollCtl(l.fd, unix.EPOLL_CTL_ADD, c.socket.fd, &e)
	if err != nil {
		l.forget(c)
	}
	return err
}

// forget ends the watch of a connection that is about to be closed, which takes it out of the system's list.
func (l *Loop) forget(c *Conn) {
	l.mu.Lock()
	delete(l.conns, c.id)
	l.mu.Unlock()
}
