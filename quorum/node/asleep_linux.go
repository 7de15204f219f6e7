package node

import (
	"time"

	"golang.org/x/sys/unix"
)

// asleep is how long this machine has been suspended since it started: the monotonic clock stands still then, all
// others go on (https://man7.org/linux/man-pages/man2/clock_gettime.2.html).
func asleep() time.Duration {
	var boot, monotonic unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &monotonic) != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) != nil {
		return 0
	}
	return time.Duration(boot.Nano() - monotonic.Nano())
}
