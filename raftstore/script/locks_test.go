package script_test

import (
	"testing"

	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/raftstore/script"
)

const lockOwner = "8743c9c0-0795-4907-87fd-6c719a6b4586:1"

// renewReads renews read locks as a watchdog does: the bound of its loop is the string that HGET gave.
const renewReads = `local result = {} for i = 1, #KEYS, 2 do
  local counter = redis.call('hget', KEYS[i], ARGV[2])
  if counter ~= false then
    for c = counter, 1, -1 do redis.call('pexpire', KEYS[i + 1] .. ':' .. c, ARGV[1]) end
    redis.call('pexpire', KEYS[i], ARGV[1])
    table.insert(result, 1)
  else table.insert(result, 0) end
end return result`

const releaseSemaphore = `local value = redis.call('incrby', KEYS[1], ARGV[1]) redis.call('publish', KEYS[2], value) return value`

const rateLimit = `local packed = struct.pack('Bc0I', string.len(ARGV[1]), ARGV[1], ARGV[2])
redis.call('zadd', KEYS[1], ARGV[3], packed)
local sum = 0 for i, v in ipairs(redis.call('zrangebyscore', KEYS[1], 0, '(' .. (tonumber(ARGV[3]) + 1))) do
  local random, permits = struct.unpack('Bc0I', v) sum = sum + permits end
return {sum, tostring(ARGV[3] - 0.5)}`

// TestLockScripts runs the steps of lock clients on a real server and here, from the same state.
func TestLockScripts(t *testing.T) {
	lock, timeouts := "lock", "{lock}:"+lockOwner+":rwlock_timeout"
	steps := []struct {
		text       string
		keys, args []string
	}{
		{redissonReadLock, []string{lock, timeouts}, []string{"30000", lockOwner, lockOwner + ":write"}},
		{redissonReadLock, []string{lock, timeouts}, []string{"30000", lockOwner, lockOwner + ":write"}},
		{renewReads, []string{lock, timeouts, "other", "x"}, []string{"60000", lockOwner}},
		{`return redis.call('hgetall', KEYS[1])`, []string{lock}, nil},
		{`return {redis.call('get', KEYS[1] .. ':1'), redis.call('pttl', KEYS[1] .. ':2') > 50000}`, []string{timeouts}, nil},
		{redissonAcquire, []string{"plain"}, []string{"30000", lockOwner}},
		{redissonAcquire, []string{"plain"}, []string{"30000", lockOwner}},
		{`return redis.call('hget', KEYS[1], ARGV[1])`, []string{"plain"}, []string{lockOwner}},
		{`redis.call('set', KEYS[1], ARGV[1])`, []string{"simple"}, []string{"owner"}},
		{compareAndDelete, []string{"simple"}, []string{"stranger"}},
		{compareAndDelete, []string{"simple"}, []string{"owner"}},
		{compareAndDelete, []string{"simple"}, []string{"owner"}},
		{releaseSemaphore, []string{"semaphore", "channel"}, []string{"3"}},
		{rateLimit, []string{"limit"}, []string{"\x00\xffrnd", "5", "1796024563039"}},
		{rateLimit, []string{"limit"}, []string{"other", "7", "1796024563040"}},
	}
	e := testEngine()
	var replies [2][]string
	for side := range replies {
		live := dialRedis(t, 2)
		live.do(t, "FLUSHALL")
		for _, s := range steps {
			var v resp.Value
			if side == 0 {
				eval := []string{"EVAL", s.text, string(rune('0' + len(s.keys)))}
				v = live.do(t, append(append(eval, s.keys...), s.args...)...)
			} else {
				v, _ = e.Run(script.Invocation{
					SHA: script.SHA1Hex(s.text), Text: s.text, Keys: s.keys, Args: s.args, Caller: liveCaller{t, live},
				})
			}
			replies[side] = append(replies[side], show(reshape(v, resp.RESP2)))
		}
	}
	for i := range steps {
		if replies[0][i] != replies[1][i] {
			t.Errorf("step %d: redis %s, here %s", i, replies[0][i], replies[1][i])
		}
	}
	t.Log(replies[1])
}
