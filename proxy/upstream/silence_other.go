//go:build !linux

package upstream

import "syscall"

func limitSilence(_, _ string, _ syscall.RawConn) error { return nil }
