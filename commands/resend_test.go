package commands

import (
	"strconv"
	"strings"
	"testing"
	"time"
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
	const s = 30 * time.Second
	fair := "l redisson_lock_queue:{l} redisson_lock_timeout:{l}"
	tests := map[string]struct {
		line  []string
		lease time.Duration // 0: no acquire
	}{
		"lock":                     {script("EVALSHA", sha, "l", "30000 "+owner), s},
		"lock, whole text":         {script("eval", acquireText, "l", "30000 "+owner), s},
		"write lock":               {script("EVALSHA", sha, "l", "30000 "+owner+":write"), s},
		"fenced lock":              {script("EVALSHA", sha, "l redisson_lock_token:{l}", "30000 "+owner), s},
		"read lock":                {script("EVALSHA", sha, "l {l}:"+owner+":rwlock_timeout", "30000 "+owner+" "+owner+":write"), s},
		"fair lock":                {script("EVALSHA", sha, fair, "30000 "+owner+" 300000 1796024563139"), s},
		"fair lock, non-reentrant": {script("EVALSHA", sha, fair, "30000 "+owner+" 300000 1796024563139 NON_REENTRANT_REACQUIRE"), s},
		"non-reentrant lock":       {script("EVALSHA", sha, "l", "30000 "+owner+" NON_REENTRANT_REACQUIRE"), s},
		"a very long lease":        {script("EVALSHA", sha, "l", "9223372036854775807 "+owner), time.Hour},

		"renewal, whole text":        {script("EVAL", renewText, "l", "30000 "+owner), 0},
		"renewal of two":             {script("EVALSHA", sha, "l m", "30000 "+owner+" "+owner), 0},
		"renewal of lock and write":  {script("EVALSHA", sha, "l m", "30000 "+owner+" "+owner+":write"), 0},
		"renewal of three":           {script("EVALSHA", sha, "l m n", "30000 "+owner+" "+owner+" "+owner), 0},
		"renewal of a read lock":     {script("EVALSHA", sha, "l {l}", "30000 1 "+owner), 0},
		"release":                    {script("EVALSHA", sha, "l redisson_lock__channel:{l} redisson_unlock_latch:{l}:1", "0 30000 "+owner+" PUBLISH 13500"), 0},
		"release before 3.24":        {script("EVALSHA", sha, "l redisson_lock__channel:{l}", "0 30000 "+owner), 0},
		"release of a write lock":    {script("EVALSHA", sha, "l c latch", "1 30000 "+owner+":write PUBLISH 13500"), 0},
		"release of a read lock":     {script("EVALSHA", sha, "l c p {l} latch", "0 "+owner+" PUBLISH 13500"), 0},
		"release of a fair lock":     {script("EVALSHA", sha, "l q t c latch", "0 30000 "+owner+" 1796024563139 PUBLISH 13500"), 0},
		"release of a spin lock":     {script("EVALSHA", sha, "l latch", "30000 "+owner+" 13500"), 0},
		"the same before 3.24":       {script("EVAL", releaseText, "l", "30000 "+owner), 0},
		"giving up a fair lock":      {script("EVALSHA", sha, "q t", owner+" 300000"), 0},
		"semaphore":                  {script("EVALSHA", sha, "sem", "1"), 0},
		"semaphore of two permits":   {script("EVALSHA", sha, "sem", "1 2"), 0},
		"expirable permit":           {script("EVALSHA", sha, "s t c", "1 2 3 4 PUBLISH "+uuid), 0},
		"latch":                      {script("EVALSHA", sha, "latch channel", "PUBLISH"), 0},
		"redis-py":                   {script("EVALSHA", sha, "l", uuid), 0},
		"a uuid without thread":      {script("EVALSHA", sha, "l", "30000 "+uuid), 0},
		"a thread that is no number": {script("EVALSHA", sha, "l", "30000 "+uuid+":main"), 0},
		"an upper-case uuid":         {script("EVALSHA", sha, "l", "30000 "+strings.ToUpper(uuid)+":1"), 0},
		"no lease":                   {script("EVALSHA", sha, "l", "0 "+owner), 0},
		"a lease in words":           {script("EVALSHA", sha, "l", "long "+owner), 0},
		"no keys":                    {script("EVALSHA", sha, "", "30000 "+owner), 0},
		"read-only":                  {script("EVALSHA_RO", sha, "l", "30000 "+owner), 0},
		"SET":                        {[]string{"SET", "job", owner, "NX", "PX", "30000"}, 0},
		"two keys of another kind":   {script("EVALSHA", sha, "l m", "30000 "+owner), 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := Bind(tt.line, 0)
			if err != nil {
				t.Fatal(err)
			}
			lease, yes := ResendableAcquire(r)
			if lease != tt.lease || yes != (tt.lease > 0) {
				t.Errorf("lease %v, acquire %v, want %v", lease, yes, tt.lease)
			}
		})
	}
}

// FuzzResendableAcquire shows that what is taken for an acquire names an owner and a lease, whatever else it is.
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
		lease, yes := ResendableAcquire(r)
		if !yes {
			return
		}
		words := strings.Fields(argv)
		if lease <= 0 || lease > time.Hour || words[0] == "0" || strings.Count(words[1], "-") != 4 {
			t.Errorf("%v is taken for an acquire with a lease of %v", r.Args, lease)
		}
	})
}
