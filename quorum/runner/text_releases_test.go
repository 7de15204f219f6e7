package runner

import "testing"

func TestReleases(t *testing.T) {
	const (
		release = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`
		extend  = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) else return 0 end`
		other   = `return redis.call("hdel", KEYS[1], ARGV[1])`
	)
	for _, tt := range []struct {
		name, text string
		wrote      []bool // whether it only ended holds
		want       bool
	}{
		{"a known release", release, nil, true},
		{"a known renewal", extend, nil, false},
		{"unknown as yet", other, nil, false},
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
