package runner

import (
	"slices"
	"strconv"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
)

// batch is how the arguments of a script that renews many locks belong to its keys. Such scripts are Redisson's, since
// 3.44 (org.redisson.renewal): they answer an array with 1 for each lock that was renewed and 0 for each that its
// owner does not hold. Each lock needs a vote of its own.
type batch uint8

const (
	noBatch       batch = iota
	perKey              // ARGV: TTL, then one for each key
	perPair             // ARGV: TTL, then one for each two keys
	countedInPair       // ARGV: TTL, then for each two keys a number and so many
)

// batches are the scripts in the spelling of canonical.
var batches = map[string]batch{
	canonical(`local result = {} for i = 1, #KEYS, 1 do
		if (redis.call('hexists', KEYS[i], ARGV[i + 1]) == 1) then redis.call('pexpire', KEYS[i], ARGV[1]); table.insert(result, 1);
		else table.insert(result, 0); end; end; return result;`): perKey,
	canonical(readRenewal("i")): perPair, // 3.44
	canonical(readRenewal("c")): perPair, // 4.0
	canonical(`local result = {} local argIdx = 2 for i = 1, #KEYS, 2 do
		local anyAlive = false; local lockNamesCount = tonumber(ARGV[argIdx]); argIdx = argIdx + 1;
		for k = 1, lockNamesCount do local counter = redis.call('hget', KEYS[i], ARGV[argIdx]);
		if (counter ~= false) then anyAlive = true;
		for c=counter, 1, -1 do redis.call('pexpire', KEYS[i+1] .. ':' .. ARGV[argIdx] .. ':rwlock_timeout:' .. c, ARGV[1]); end;
		end; argIdx = argIdx + 1; end;
		if (anyAlive) then redis.call('pexpire', KEYS[i], ARGV[1]); table.insert(result, 1);
		else table.insert(result, 0); end; end; return result;`): countedInPair, // 4.7
}

// readRenewal is the script that renews read locks; counter names its inner variable.
func readRenewal(counter string) string {
	return `local result = {} local j = 1 for i = 1, #KEYS, 2 do j = j + 1;
		local counter = redis.call('hget', KEYS[i], ARGV[j]);
		if (counter ~= false) then redis.call('pexpire', KEYS[i], ARGV[1]);
		if (redis.call('hlen', KEYS[i]) > 1) then local keys = redis.call('hkeys', KEYS[i]);
		for n, key in ipairs(keys) do counter = tonumber(redis.call('hget', KEYS[i], key));
		if type(counter) == 'number' then for ` + counter + `=counter, 1, -1 do
		redis.call('pexpire', KEYS[i+1] .. ':' .. key .. ':rwlock_timeout:' .. ` + counter + `, ARGV[1]); end; end; end; end;
		table.insert(result, 1); else table.insert(result, 0); end; end; return result;`
}

// Split takes a request that renews several locks at once apart: one request for each, of the same script. It returns
// nil for other requests. Join makes one reply of theirs.
func Split(r *commands.Request, t *Text) []*commands.Request {
	opts, ok := r.Opts.(args.EvalOptions)
	if !ok || t == nil || t.batch == noBatch || len(opts.Argv) == 0 {
		return nil
	}
	step := 2
	if t.batch == perKey {
		step = 1
	}
	if len(opts.Keys) <= step || len(opts.Keys)%step != 0 {
		return nil
	}
	var parts []*commands.Request
	rest := opts.Argv[1:]
	for keys := range slices.Chunk(opts.Keys, step) {
		n, ok := t.batch.argc(rest)
		if !ok {
			return nil
		}
		parts = append(parts, evalOf(r, keys, append(opts.Argv[:1:1], rest[:n]...)))
		rest = rest[n:]
	}
	if len(rest) > 0 {
		return nil
	}
	return parts
}

// argc is how many of the arguments belong to the next key or pair; false when there are too few.
func (b batch) argc(argv []string) (int, bool) {
	if b != countedInPair {
		return 1, len(argv) > 0
	}
	if len(argv) == 0 {
		return 0, false
	}
	n, err := strconv.Atoi(argv[0])
	return n + 1, err == nil && n >= 0 && n < len(argv)
}

// evalOf is a request for the same script with other keys and arguments.
func evalOf(r *commands.Request, keys, argv []string) *commands.Request {
	line := append(slices.Clone(r.Args[:2]), strconv.Itoa(len(keys)))
	line = append(append(line, keys...), argv...)
	return &commands.Request{Spec: r.Spec, Args: line, DB: r.DB, Opts: args.EvalOptions{Keys: keys, Argv: argv}}
}

// Join makes one reply of the replies to the parts of a request, in their order. The first error is the reply.
func Join(replies []resp.Value) resp.Value {
	var all []resp.Value
	for _, v := range replies {
		if v.IsErr() {
			return v
		}
		all = append(all, v.Elems...)
	}
	return resp.Arr(all...)
}
