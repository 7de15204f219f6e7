//go:build unix

package main

import "syscall"

// descriptorLimit is how many files and sockets the process may have open, 0 when that cannot be told.
func descriptorLimit() uint64 {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0
	}
	return uint64(l.Cur) //nolint:unconvert // int64 on FreeBSD
}
