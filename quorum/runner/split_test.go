package runner

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/commands/resp"
)

// The renewal scripts as Redisson sends them: 3.44 to 4.7, read locks of 3.44, of 4.0 and of 4.7.
const (
	renewLocks   = "local result = {} for i = 1, #KEYS, 1 do if (redis.call('hexists', KEYS[i], ARGV[i + 1]) == 1) then redis.call('pexpire', KEYS[i], ARGV[1]); table.insert(result, 1); else table.insert(result, 0); end; end; return result;"
	renewReads3  = "local result = {} local j = 1 for i = 1, #KEYS, 2 do j = j + 1; local counter = redis.call('hget', KEYS[i], ARGV[j]); if (counter ~= false) then redis.call('pexpire', KEYS[i], ARGV[1]); if (redis.call('hlen', KEYS[i]) > 1) then local keys = redis.call('hkeys', KEYS[i]); for n, key in ipairs(keys) do counter = tonumber(redis.call('hget', KEYS[i], key)); if type(counter) == 'number' then for i=counter, 1, -1 do redis.call('pexpire', KEYS[i+1] .. ':' .. key .. ':rwlock_timeout:' .. i, ARGV[1]); end; end; end; end; table.insert(result, 1); else table.insert(result, 0); end; end; return result;"
	renewReads4  = "local result = {} local j = 1 for i = 1, #KEYS, 2 do j = j + 1; local counter = redis.call('hget', KEYS[i], ARGV[j]); if (counter ~= false) then redis.call('pexpire', KEYS[i], ARGV[1]); if (redis.call('hlen', KEYS[i]) > 1) then local keys = redis.call('hkeys', KEYS[i]); for n, key in ipairs(keys) do counter = tonumber(redis.call('hget', KEYS[i], key)); if type(counter) == 'number' then for c=counter, 1, -1 do redis.call('pexpire', KEYS[i+1] .. ':' .. key .. ':rwlock_timeout:' .. c, ARGV[1]); end; end; end; end; table.insert(result, 1); else table.insert(result, 0); end; end; return result;"
	renewReads47 = "local result = {} local argIdx = 2 for i = 1, #KEYS, 2 do local anyAlive = false; local lockNamesCount = tonumber(ARGV[argIdx]); argIdx = argIdx + 1; for k = 1, lockNamesCount do local counter = redis.call('hget', KEYS[i], ARGV[argIdx]); if (counter ~= false) then anyAlive = true; for c=counter, 1, -1 do redis.call('pexpire', KEYS[i+1] .. ':' .. ARGV[argIdx] .. ':rwlock_timeout:' .. c, ARGV[1]); end; end; argIdx = argIdx + 1; end; if (anyAlive) then redis.call('pexpire', KEYS[i], ARGV[1]); table.insert(result, 1); else table.insert(result, 0); end; end; return result;"
)

func TestSplit(t *testing.T) {
	cases := []struct {
		name, text string
		args       []string   // numkeys, keys, arguments
		want       [][]string // the same of each part
	}{
		{
			"locks", renewLocks,
			[]string{"3", "a", "b", "c", "30000", "o1", "o2", "o3"},
			[][]string{{"1", "a", "30000", "o1"}, {"1", "b", "30000", "o2"}, {"1", "c", "30000", "o3"}},
		},
		{
			"read locks of 3.44", renewReads3,
			[]string{"4", "a", "pa", "b", "pb", "30000", "o1", "o2"},
			[][]string{{"2", "a", "pa", "30000", "o1"}, {"2", "b", "pb", "30000", "o2"}},
		},
		{
			"read locks of 4.0", renewReads4,
			[]string{"4", "a", "pa", "b", "pb", "30000", "o1", "o2"},
			[][]string{{"2", "a", "pa", "30000", "o1"}, {"2", "b", "pb", "30000", "o2"}},
		},
		{
			"read locks of 4.7", renewReads47,
			[]string{"4", "a", "pa", "b", "pb", "30000", "2", "o1", "o2", "1", "o3"},
			[][]string{{"2", "a", "pa", "30000", "2", "o1", "o2"}, {"2", "b", "pb", "30000", "1", "o3"}},
		},
		{"one lock is whole", renewLocks, []string{"1", "a", "30000", "o1"}, nil},
		{"too few arguments", renewLocks, []string{"2", "a", "b", "30000", "o1"}, nil},
		{"too many arguments", renewLocks, []string{"2", "a", "b", "30000", "o1", "o2", "o3"}, nil},
		{"half a pair", renewReads4, []string{"3", "a", "pa", "b", "30000", "o1", "o2"}, nil},
		{"a number too large", renewReads47, []string{"4", "a", "pa", "b", "pb", "30000", "9", "o1"}, nil},
		{"another script", "return {1, 2}", []string{"2", "a", "b", "30000", "o1", "o2"}, nil},
	}
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			r := bind(t, append([]string{"EVAL", tt.text}, tt.args...)...)
			var got [][]string
			for _, part := range Split(r, NewText(tt.text)) {
				again := bind(t, part.Args...)
				assert.Equal(t, again.Opts, part.Opts, "the options are those of the line")
				got = append(got, part.Args[2:])
			}
			assert.Equal(t, tt.want, got)
		})
	}
}

// TestSplitMeansTheSame renews locks as a whole and in parts.
func TestSplitMeansTheSame(t *testing.T) {
	n := newNode(t)
	n.run("HSET", "a", "o1", "2")
	n.run("HSET", "b", "o3", "1")
	r := bind(t, "EVAL", renewLocks, "3", "a", "b", "c", "30000", "o1", "o2", "o3")
	whole := n.reply(r.Args...)
	var parts []resp.Value
	for _, part := range Split(r, NewText(renewLocks)) {
		parts = append(parts, n.reply(part.Args...))
	}
	require.Equal(t, whole, Join(parts))
	require.Equal(t, resp.Arr(resp.Int(1), resp.Int(0), resp.Int(0)), whole)
}
