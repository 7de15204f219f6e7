package main

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// alarm wakes a goroutine to the microsecond. Go's own timers sleep for a millisecond at least while a process has nothing else to do.
type alarm struct {
	file *os.File // a timerfd, see https://man7.org/linux/man-pages/man2/timerfd_create.2.html
	fd   int
}

func newAlarm() (*alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	return &alarm{os.NewFile(uintptr(fd), "timer"), fd}, nil
}

// wait returns when d has passed, at once when it is not positive.
func (a *alarm) wait(d time.Duration) error {
	if d <= 0 {
		return nil
	}
	at := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	if err := unix.TimerfdSettime(a.fd, 0, &at, nil); err != nil {
		return os.NewSyscallError("timerfd_settime", err)
	}
	var expirations [8]byte
	_, err := a.file.Read(expirations[:])
	return err
}

// Close implements io.Closer.
func (a *alarm) Close() error { return a.file.Close() }
