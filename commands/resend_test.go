package commands

import (
	"strconv"
	"strings"
	"testing"

	"github.com/redfence/redfence/commands/resp"
)

const (
	uuid  = "8743c9c0-0795-4907-87fd-6c719a6b4586"
	owner = uuid + ":57"
	sha   = "c84f4bb5a1b4b5f2e2ca7b0a7c0b4cbdb4b0a111"

	acquireText = "if (redis.call('exists', KEYS[1]) == 0) then redis.call('hincrby', KEYS[1], ARGV[2], 1); return nil; end;"
	renewText   = "if (redis.call('hexists', KEYS[1], ARGV[2]) == 1) then redis.call('pexpire', KEYS[1], ARGV[1]); return 1; end;"
	releaseText = "local c = redis.call('hincrby', KEYS[1], ARGV[2], -1); if (c > 0) then return 0; end; redis.call('del', KEYS[1]);"
)

// script is the line of EVAL or EVALSHA; keys and arguments are separated by blanks.
func script(name, text, keys, argv string) []string {
	k := strings.Fields(keys)
	line := append([]string{name, text, strconv.Itoa(len(k))}, k...)
	return append(line, strings.Fields(argv)...)
}

func TestResendableAcquire(t *testing.T) {
	none, plain := Acquire{}, Acquire{Lock: "l", Field: owner}
	fair := "l redisson_lock_queue:{l} redisson_lock_timeout:{l}"
	tests := map[string]struct {
		line []string
		want Acquire // zero: it is none
	}{
		"lock":                     {script("EVALSHA", sha, "l", "30000 "+owner), plain},
		"lock, whole text":         {script("eval", acquireText, "l", "30000 "+owner), plain},
		"write lock":               {script("EVALSHA", sha, "l", "30000 "+owner+":write"), Acquire{Lock: "l", Field: owner + ":write"}},
		"fenced lock":              {script("EVALSHA", sha, "l redisson_lock_token:{l}", "30000 "+owner), plain},
		"read lock":                {script("EVALSHA", sha, "l {l}:"+owner+":rwlock_timeout", "30000 "+owner+" "+owner+":write"), Acquire{"l", owner, "{l}:" + owner + ":rwlock_timeout:"}},
		"fair lock":                {script("EVALSHA", sha, fair, "30000 "+owner+" 300000 1796024563139"), plain},
		"fair lock, non-reentrant": {script("EVALSHA", sha, fair, "30000 "+owner+" 300000 1796024563139 NON_REENTRANT_REACQUIRE"), plain},
		"non-reentrant lock":       {script("EVALSHA", sha, "l", "30000 "+owner+" NON_REENTRANT_REACQUIRE"), plain},
		"a very long lease":        {script("EVALSHA", sha, "l", "9223372036854775807 "+owner), plain},

		"renewal, whole text":        {script("EVAL", renewText, "l", "30000 "+owner), none},
		"renewal of two":             {script("EVALSHA", sha, "l m", "30000 "+owner+" "+owner), none},
		"renewal of lock and write":  {script("EVALSHA", sha, "l m", "30000 "+owner+" "+owner+":write"), none},
		"renewal of three":           {script("EVALSHA", sha, "l m n", "30000 "+owner+" "+owner+" "+owner), none},
		"renewal of a read lock":     {script("EVALSHA", sha, "l {l}", "30000 1 "+owner), none},
		"release":                    {script("EVALSHA", sha, "l redisson_lock__channel:{l} redisson_unlock_latch:{l}:1", "0 30000 "+owner+" PUBLISH 13500"), none},
		"release before 3.24":        {script("EVALSHA", sha, "l redisson_lock__channel:{l}", "0 30000 "+owner), none},
		"release of a write lock":    {script("EVALSHA", sha, "l c latch", "1 30000 "+owner+":write PUBLISH 13500"), none},
		"release of a read lock":     {script("EVALSHA", sha, "l c p {l} latch", "0 "+owner+" PUBLISH 13500"), none},
		"release of a fair lock":     {script("EVALSHA", sha, "l q t c latch", "0 30000 "+owner+" 1796024563139 PUBLISH 13500"), none},
		"release of a spin lock":     {script("EVALSHA", sha, "l latch", "30000 "+owner+" 13500"), none},
		"the same before 3.24":       {script("EVAL", releaseText, "l", "30000 "+owner), none},
		"giving up a fair lock":      {script("EVALSHA", sha, "q t", owner+" 300000"), none},
		"semaphore":                  {script("EVALSHA", sha, "sem", "1"), none},
		"semaphore of two permits":   {script("EVALSHA", sha, "sem", "1 2"), none},
		"expirable permit":           {script("EVALSHA", sha, "s t c", "1 2 3 4 PUBLISH "+uuid), none},
		"latch":                      {script("EVALSHA", sha, "latch channel", "PUBLISH"), none},
		"redis-py":                   {script("EVALSHA", sha, "l", uuid), none},
		"a uuid without thread":      {script("EVALSHA", sha, "l", "30000 "+uuid), none},
		"a thread that is no number": {script("EVALSHA", sha, "l", "30000 "+uuid+":main"), none},
		"an upper-case uuid":         {script("EVALSHA", sha, "l", "30000 "+strings.ToUpper(uuid)+":1"), none},
		"no lease":                   {script("EVALSHA", sha, "l", "0 "+owner), none},
		"a lease in words":           {script("EVALSHA", sha, "l", "long "+owner), none},
		"no keys":                    {script("EVALSHA", sha, "", "30000 "+owner), none},
		"read-only":                  {script("EVALSHA_RO", sha, "l", "30000 "+owner), none},
		"SET":                        {[]string{"SET", "job", owner, "NX", "PX", "30000"}, none},
		"two keys of another kind":   {script("EVALSHA", sha, "l m", "30000 "+owner), none},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := Bind(tt.line, 0)
			if err != nil {
				t.Fatal(err)
			}
			a, yes := ResendableAcquire(r)
			if a != tt.want || yes != (tt.want != none) {
				t.Errorf("%v, acquire %v, want %v", a, yes, tt.want)
			}
		})
	}
}

// TestWhatTook has the replies of all acquires of Redisson.
func TestWhatTook(t *testing.T) {
	tests := map[string]struct {
		reply resp.Value
		want  bool
	}{
		"taken":                       {resp.Value{}, true},
		"held for so long":            {resp.Int(29000), false},
		"held without end":            {resp.Int(-1), false},
		"not taken by a fair tryLock": {resp.Int(1), false},
		"taken with a token":          {resp.Arr(resp.Int(-1), resp.Int(7)), true},
		"held, no token":              {resp.Arr(resp.Int(29000), resp.Int(-1)), false},
		"refused":                     {resp.Err("NON_REENTRANT_REACQUIRE"), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if (Acquire{}).Took(tt.reply) != tt.want {
				t.Errorf("%v is taken for %v", tt.reply, !tt.want)
			}
		})
	}
}

// FuzzResendableAcquire shows that what is taken for an acquire names a lock and an owner, whatever else it is.
func FuzzResendableAcquire(f *testing.F) {
	f.Add("EVALSHA", sha, "l", "30000 "+owner)
	f.Add("eval", acquireText, "l redisson_lock_token:{l}", "1 "+owner)
	f.Add("EVAL", releaseText, "l latch", "30000 "+owner+":write x")
	f.Add("EVALSHA", sha, "l redisson_lock_queue:{l} redisson_lock_timeout:{l}", "1 "+owner+" 2 3 NON_REENTRANT_REACQUIRE")
	f.Fuzz(func(t *testing.T, name, text, keys, argv string) {
		r, err := Bind(script(name, text, keys, argv), 0)
		if err != nil {
			return
		}
		a, yes := ResendableAcquire(r)
		if !yes {
			return
		}
		words := strings.Fields(argv)
		if words[0] == "0" || a.Field != words[1] || strings.Count(words[1], "-") != 4 || a.Lock != r.Keys()[0] {
			t.Errorf("%v is taken for the acquire %v", r.Args, a)
		}
	})
}
