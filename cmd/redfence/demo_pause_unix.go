//go:build unix

package main

import "syscall"

// pause stops the customer's process where it is, until resume.
func (a *actor) pause() error { return a.cmd.Process.Signal(syscall.SIGSTOP) }

func (a *actor) resume() error { return a.cmd.Process.Signal(syscall.SIGCONT) }
