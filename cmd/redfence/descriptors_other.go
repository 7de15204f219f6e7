//go:build !unix

package main

// descriptorLimit is 0: this system has no such limit.
func descriptorLimit() uint64 { return 0 }
