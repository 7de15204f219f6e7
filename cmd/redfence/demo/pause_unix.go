//go:build unix

package demo

import (
	"os"
	"syscall"
)

// pause stops a process where it is.
func pause(p *os.Process) { _ = p.Signal(syscall.SIGSTOP) }

// resume lets it go on.
func resume(p *os.Process) { _ = p.Signal(syscall.SIGCONT) }
