//go:build !unix

package demo

import "os"

// pause would stop a process where it is, which only Unix can. Then the replica hears of the lock, and Redis keeps it.
func pause(*os.Process) {}

// resume would let it go on.
func resume(*os.Process) {}
