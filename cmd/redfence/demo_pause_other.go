//go:build !unix

package main

import "errors"

func (*actor) pause() error {
	return errors.New("the demo stops a process by SIGSTOP, which this system does not have")
}

func (*actor) resume() error { return nil }
