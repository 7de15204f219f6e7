package wake

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLockOfAChannel(t *testing.T) {
	const owner = ":01234567-89ab-cdef-0123-456789abcdef:42"
	tests := []struct {
		channel string
		keys    []string
		message string
	}{
		{"redisson_lock__channel:{job}", []string{"job", "{job}"}, "0"},
		{"redisson_lock__channel:{a}:job", []string{"{a}:job"}, "0"},
		{"redisson_lock__channel:a{b}", []string{"a{b}"}, "0"},
		{"redisson_lock__channel:{job}" + owner, []string{"job", "{job}"}, "0"},
		{"redisson_rwlock:{job}", []string{"job", "{job}"}, "1"},
		{"redisson_sc:{job}", nil, ""},
		{"redisson_lock__channel:", nil, ""},
		{"redisson_lock__channel:{}", []string{"", "{}"}, "0"},
		{"news", nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.channel, func(t *testing.T) {
			keys, message := lockOf(tt.channel)
			assert.Equal(t, tt.keys, keys)
			assert.Equal(t, tt.message, message)
		})
	}
}
