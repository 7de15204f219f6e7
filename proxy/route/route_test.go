package route

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLock(t *testing.T) {
	rules := New([]string{"lock:*", "mutex-?"})
	tests := map[string]bool{
		"lock:1":                               true,
		"mutex-a":                              true,
		"mutex-ab":                             false,
		"stock:1":                              false,
		"":                                     false,
		"redisson_lock__channel:{lock:1}":      true,
		"{lock:1}:rwlock_timeout":              true,
		"redisson_lock_queue:{stock:1}":        false,
		"redisson_lock__channel:lock:{region}": true,
		"redisson_lock__channel:stock:{1}":     false,
		"lock:{a}:b":                           true,
		"stock:{lock:1":                        false,
		"__fence__:lock:1":                     true,
		"my__fence__:x":                        false,
	}
	for key, want := range tests {
		t.Run(key, func(t *testing.T) { assert.Equal(t, want, rules.Lock(key)) })
	}
}

func TestChannels(t *testing.T) {
	rules := New([]string{"lock:*"})
	tests := map[string]Side{
		"news":                            Upstream,
		"lock:news":                       Locks,
		"redisson_lock__channel:{lock:1}": Locks,
		"__keyspace@0__:lock:1":           Locks,
		"__keyspace@0__:stock":            Upstream,
		"__keyspace@0__lock:1":            Upstream,
		"__keyevent@0__:expired":          Both,
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, want, rules.Channel(name)) })
	}
}

func TestPatterns(t *testing.T) {
	rules := New([]string{"lock:*"})
	assert.Equal(t, Locks, rules.Pattern("lock:*"))
	assert.Equal(t, Locks, rules.Pattern("__keyspace@0__:lock:*"))
	assert.Equal(t, Both, rules.Pattern("*"))
	assert.Equal(t, Both, rules.Pattern("__keyevent@*__:expired"))
	assert.Equal(t, Both, rules.Pattern("l*"))
	assert.Equal(t, Locks, rules.Names("lock:a*"))
	assert.Equal(t, Upstream, rules.Names("*"))
}

func TestKeys(t *testing.T) {
	rules := New([]string{"lock:*"})
	tests := map[string]struct {
		keys        []string
		side        Side
		lock, other string
	}{
		"none":   {nil, Nobody, "", ""},
		"locks":  {[]string{"lock:1", "lock:2"}, Locks, "lock:2", ""},
		"others": {[]string{"a"}, Upstream, "", "a"},
		"mixed":  {[]string{"a", "lock:1"}, Both, "lock:1", "a"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			side, lock, other := rules.Keys(tt.keys)
			assert.Equal(t, tt.side, side)
			assert.Equal(t, tt.lock, lock)
			assert.Equal(t, tt.other, other)
		})
	}
}
