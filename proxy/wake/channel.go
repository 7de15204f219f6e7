package wake

import (
	"regexp"
	"strings"
)

// The channels on which Redisson's waiters listen (RedissonLock.getChannelName, RedissonReadWriteLock).
const (
	lockPrefix      = "redisson_lock__channel:"
	readWritePrefix = "redisson_rwlock:"
)

// What Redisson's waiters read from a message (LockPubSub): one of them tries again, or all do.
const (
	wakeOne = "0"
	wakeAll = "1"
)

// waiter is the end of the channel that each waiter of a fair lock has for itself: its client's UUID and its thread.
var waiter = regexp.MustCompile(`:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:[0-9]+$`)

// lockOf tells which keys a channel's lock may have, and what wakes those who wait for it; there are no keys when it is not the
// channel of a lock. A name without braces stands in braces, one with braces as it is, so that {a} may be either.
func lockOf(channel string) (keys []string, message string) {
	name, isLock := strings.CutPrefix(channel, lockPrefix)
	message = wakeOne
	if !isLock {
		if name, isLock = strings.CutPrefix(channel, readWritePrefix); !isLock {
			return nil, ""
		}
		message = wakeAll
	} else {
		name = waiter.ReplaceAllString(name, "")
	}
	if name == "" {
		return nil, ""
	}
	if inner := strings.TrimSuffix(strings.TrimPrefix(name, "{"), "}"); len(inner) == len(name)-2 && !strings.ContainsAny(inner, "{}") {
		return []string{inner, name}, message
	}
	return []string{name}, message
}
