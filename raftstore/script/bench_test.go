package script_test

import (
	"testing"

	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/raftstore/script"
)

// constCaller answers from a table by command name, so that a benchmark measures the interpreter alone.
type constCaller map[string]resp.Value

func (c constCaller) Call(args []string) (resp.Value, bool) { return c[args[0]], false }

const compareAndDelete = `if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end`

const redissonAcquire = `if ((redis.call('exists', KEYS[1]) == 0) or (redis.call('hexists', KEYS[1], ARGV[2]) == 1)) then
    redis.call('hincrby', KEYS[1], ARGV[2], 1);
    redis.call('pexpire', KEYS[1], ARGV[1]);
    return nil;
end;
return redis.call('pttl', KEYS[1]);`

const redissonReadLock = `local mode = redis.call('hget', KEYS[1], 'mode');
if (mode == false) then
    redis.call('hset', KEYS[1], 'mode', 'read');
    redis.call('hset', KEYS[1], ARGV[2], 1);
    redis.call('set', KEYS[2] .. ':1', 1);
    redis.call('pexpire', KEYS[2] .. ':1', ARGV[1]);
    redis.call('pexpire', KEYS[1], ARGV[1]);
    return nil;
end;
if (mode == 'read') or (mode == 'write' and redis.call('hexists', KEYS[1], ARGV[3]) == 1) then
    local ind = redis.call('hincrby', KEYS[1], ARGV[2], 1);
    local key = KEYS[2] .. ':' .. ind;
    redis.call('set', key, 1);
    redis.call('pexpire', key, ARGV[1]);
    local remainTime = redis.call('pttl', KEYS[1]);
    redis.call('pexpire', KEYS[1], math.max(remainTime, ARGV[1]));
    return nil;
end;
return redis.call('pttl', KEYS[1]);`

func BenchmarkRun(b *testing.B) {
	replies := constCaller{
		"get": resp.Str("owner"), "del": resp.Int(1), "exists": resp.Int(0), "hincrby": resp.Int(2), "pexpire": resp.Int(1),
		"hget": resp.Str("read"), "set": resp.OK(), "pttl": resp.Int(29000),
	}
	owner := "8743c9c0-0795-4907-87fd-6c719a6b4586:1"
	for _, bench := range []struct {
		name, text string
		keys, args []string
	}{
		{"compare-and-delete", compareAndDelete, []string{"lock"}, []string{"owner"}},
		{"redisson-acquire", redissonAcquire, []string{"lock"}, []string{"30000", owner}},
		{
			"redisson-read-lock", redissonReadLock,
			[]string{"lock", "{lock}:" + owner + ":rwlock_timeout"},
			[]string{"30000", owner, owner + ":write"},
		},
	} {
		b.Run(bench.name, func(b *testing.B) {
			e := testEngine()
			inv := script.Invocation{
				SHA: script.SHA1Hex(bench.text), Text: bench.text, Keys: bench.keys, Args: bench.args, Caller: replies,
			}
			b.ReportAllocs()
			for b.Loop() {
				if v, out := e.Run(inv); out != script.Done {
					b.Fatal(out, v)
				}
			}
		})
	}
	b.Run("instructions", func(b *testing.B) {
		e := testEngine()
		text := "local n = 0 while true do n = n + 1 end"
		for b.Loop() {
			e.Run(script.Invocation{SHA: script.SHA1Hex(text), Text: text, Caller: replies})
		}
	})
}
