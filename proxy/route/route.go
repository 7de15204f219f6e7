// Package route decides by key names what is a lock and what belongs to the Redis behind Redfence. It is pure.
package route

import (
	"strings"

	"github.com/redfence/redfence/commands/glob"
)

// Side is who serves a request.
type Side uint8

// The sides.
const (
	Nobody   Side = iota // the request names nothing that decides it
	Locks                // Redfence's own locks
	Upstream             // the Redis behind
	Both
)

// Rules are the patterns of the locks' keys (--lock-keys).
type Rules struct{ patterns []string }

// New returns rules with patterns as in KEYS (https://redis.io/docs/latest/commands/keys/).
func New(patterns []string) Rules { return Rules{patterns} }

const (
	tokenPrefix    = "__fence__:"
	redissonPrefix = "redisson_"
	keyspacePrefix = "__keyspace@"
	keyeventPrefix = "__keyevent@"
)

// Lock tells whether a key belongs to a lock. Besides the patterns themselves that are
//
//   - what carries the name of a lock in braces, as Redis Cluster's hash tags do
//     (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#hash-tags): Redisson calls the channels,
//     queues and time-outs of the lock "lock:1" redisson_lock__channel:{lock:1}, {lock:1}:rwlock_timeout and so on;
//   - what Redisson derives from a name that has braces itself: redisson_lock__channel:lock:{1};
//   - __fence__:key, which shows a token.
func (r Rules) Lock(key string) bool {
	if r.matches(key) || strings.HasPrefix(key, tokenPrefix) {
		return true
	}
	if tag := hashTag(key); tag != "" && r.matches(tag) {
		return true
	}
	if strings.HasPrefix(key, redissonPrefix) {
		_, name, found := strings.Cut(key, ":")
		return found && r.matches(name)
	}
	return false
}

func (r Rules) matches(key string) bool {
	for _, pattern := range r.patterns {
		if glob.Match(pattern, key) {
			return true
		}
	}
	return false
}

// hashTag is what stands between the first brace and the next closing one.
func hashTag(key string) string {
	_, rest, _ := strings.Cut(key, "{")
	tag, _, found := strings.Cut(rest, "}")
	if !found {
		return ""
	}
	return tag
}

// Channel tells whose messages come on a channel. Those that tell of changed keys follow the key, and those that tell of all
// changes come from both sides.
func (r Rules) Channel(name string) Side {
	if strings.HasPrefix(name, keyeventPrefix) {
		return Both
	}
	if rest, ok := strings.CutPrefix(name, keyspacePrefix); ok {
		if _, key, ok := strings.Cut(rest, "__:"); ok {
			name = key
		}
	}
	return sideOf(r.Lock(name))
}

// Pattern tells whose messages a pattern may match: the locks' alone when the pattern, read as a name, is a lock's.
func (r Rules) Pattern(pattern string) Side {
	if r.Channel(pattern) == Locks {
		return Locks
	}
	return Both
}

// Names tells whose keys a pattern of KEYS or SCAN lists, which is the upstream unless the pattern, read as a name, is a
// lock's.
func (r Rules) Names(pattern string) Side { return sideOf(r.Lock(pattern)) }

// Keys tells who serves a request with these keys: Both when they are mixed, and then names one of each side.
func (r Rules) Keys(keys []string) (side Side, lock, other string) {
	for _, key := range keys {
		at := sideOf(r.Lock(key))
		if at == Locks {
			lock = key
		} else {
			other = key
		}
		side |= at
	}
	return side, lock, other
}

func sideOf(lock bool) Side {
	if lock {
		return Locks
	}
	return Upstream
}
