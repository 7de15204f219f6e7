//go:build clockskew

package raftstore

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// wallMicros is the wall clock plus the seconds that the file named by REDFENCE_CLOCK_OFFSET_FILE holds. Only test
// builds have it: it shows what a stepped clock does.
func wallMicros() int64 {
	now := time.Now().UnixMicro()
	text, err := os.ReadFile(os.Getenv("REDFENCE_CLOCK_OFFSET_FILE"))
	if err != nil {
		return now
	}
	seconds, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	if err != nil {
		return now
	}
	return now + int64(seconds*1e6)
}
