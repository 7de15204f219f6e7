package runner

import "testing"

func TestReleases(t *testing.T) {
	const (
		release = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`
		extend  = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) else return 0 end`
		take    = `if redis.call("exists", KEYS[1]) == 0 then redis.call("hincrby", KEYS[1], ARGV[1], 1) end return redis.call("pttl", KEYS[1])`
		other   = `return redis.call("hdel", KEYS[1], ARGV[1])`
	)
	for _, tt := range []struct {
		name, text string
		wrote      []bool // whether it ended a hold
		want       bool
	}{
		{"a known release", release, nil, true},
		{"a known renewal", extend, nil, false},
		{"unknown as yet, and may end one", other, nil, true},
		{"unknown as yet, and has no command for it", take, nil, false},
		{"it has ended holds", other, []bool{true, true}, true},
		{"it has written something else", other, []bool{false}, false},
		{"it has done both", other, []bool{true, false, true}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := NewText(tt.text)
			for _, only := range tt.wrote {
				text.Wrote(only)
			}
			if got := text.Releases(); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}
