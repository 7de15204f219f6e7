package upstream

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// silence is how long what was sent may stay unacknowledged by the other machine before the connection is given up. The
// default of Linux is a quarter of an hour.
const silence = 20 * time.Second

func limitSilence(_, _ string, c syscall.RawConn) error {
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(silence/time.Millisecond))
	})
	if err != nil {
		return err
	}
	return failed
}
