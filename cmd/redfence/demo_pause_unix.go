//go:build unix

package main

import (
	"fmt"
	"syscall"
)

// pause stops the customer's process where it is, until resume. It returns when that has happened: a signal takes effect a
// moment after it was sent.
func (a *actor) pause() error {
	if err := a.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(a.cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
		switch {
		case err == syscall.EINTR: //nolint:errorlint // as the system gives it
		case err != nil:
			return err
		case status.Stopped():
			return nil
		default:
			return fmt.Errorf("customer %s has ended, and was to be stopped", a.name)
		}
	}
}

func (a *actor) resume() error { return a.cmd.Process.Signal(syscall.SIGCONT) }
