package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/redfence/redfence/proxy/route"
)

// importConfig is what `redfence import` can be told.
type importConfig struct {
	clientConfig `mapstructure:",squash"`
	From         string   `mapstructure:"from"`
	LockKeys     []string `mapstructure:"lock-keys"`
	StopWrites   bool     `mapstructure:"stop-writes"`
}

func addImportFlags(fs *pflag.FlagSet) {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	own.String("from", "", "the Redis that has the locks now: redis://[user:password@]host:port")
	own.StringSlice("lock-keys", nil, "patterns of the keys that are locks: 'lock:*,redisson_lock*'")
	own.Bool("stop-writes", false, "make the old Redis refuse all writes first, so that it grants nothing any more")
	fs.AddFlagSet(own)
}

func newImportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import --from redis://old:6379 --lock-keys 'lock:*'",
		Short: "Copy locks that are held at a Redis, with what is left of their leases",
		Long: "Copy locks that are held at a Redis, with what is left of their leases.\n\n" +
			"Nothing that is there already is overwritten. A lock that somebody else holds at Redfence is named, and the exit code is 1.\n" +
			"The old Redis must not grant locks any more when this runs: see docs/migrating.md.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var cfg importConfig
			if err := load(cmd.Flags(), &cfg); err != nil {
				return err
			}
			if err := cfg.validate(); err != nil {
				return err
			}
			return failed(cfg.run(cmd.Context(), cmd.OutOrStdout()))
		},
	}
	addImportFlags(cmd.Flags())
	addClientFlags(cmd.Flags())
	addConfigFlag(cmd.Flags())
	return cmd
}

func (c importConfig) validate() error {
	switch {
	case c.From == "":
		return errors.New("--from is missing: the Redis that has the locks now, redis://host:port")
	case len(c.LockKeys) == 0:
		return errors.New("--lock-keys is missing: patterns of the keys to copy, for example 'lock:*,redisson_lock*'; '*' for all")
	}
	if _, err := redis.ParseURL(c.From); err != nil { // the error may hold the password
		return errors.New("--from is not a Redis URL; it must be redis://host:port")
	}
	return address("addr", c.Addr)
}

// importer copies from one database of the old server to the same of Redfence.
type importer struct {
	rules    route.Rules
	old, new *redis.Client
	out      io.Writer
	counts   importCounts
}

// importCounts are what became of keys.
type importCounts struct{ copied, kept, taken, gone, other int }

// run copies all databases, and returns an error when a lock could not be copied.
func (c importConfig) run(ctx context.Context, out io.Writer) error {
	security, err := c.tls()
	if err != nil {
		return err
	}
	from, err := redis.ParseURL(c.From)
	if err != nil {
		return errors.New("--from is not a Redis URL")
	}
	to := c.options(security)
	from.MaxRetries, from.MaintNotificationsConfig = -1, to.MaintNotificationsConfig
	databases, err := c.prepare(ctx, *from)
	if err != nil {
		return fmt.Errorf("--from %s: %w", from.Addr, err)
	}
	all := importCounts{}
	for _, db := range databases {
		from.DB, to.DB = db, db
		i := importer{rules: route.New(c.LockKeys), old: redis.NewClient(from), new: redis.NewClient(to), out: out, counts: all}
		err := i.copyAll(ctx)
		all = i.counts
		if err = errors.Join(err, i.old.Close(), i.new.Close()); err != nil {
			return fmt.Errorf("database %d: %w; what was copied may be copied again", db, err)
		}
	}
	_, err = fmt.Fprintf(out, "copied %d, already there %d, ended meanwhile %d, no string or hash %d, held by somebody else %d\n",
		all.copied, all.kept, all.gone, all.other, all.taken)
	if err == nil && all.taken > 0 {
		err = fmt.Errorf("%d locks are held by somebody else at %s; each is named above", all.taken, c.Addr)
	}
	return err
}

// prepare stops writes if that is wanted, and returns the databases that have keys.
func (c importConfig) prepare(ctx context.Context, from redis.Options) ([]int, error) {
	old := redis.NewClient(&from)
	defer old.Close()
	if c.StopWrites {
		if err := old.ConfigSet(ctx, "min-replicas-to-write", "1000000").Err(); err != nil {
			return nil, fmt.Errorf("--stop-writes: CONFIG SET min-replicas-to-write: %w", err)
		}
	}
	text, err := old.Info(ctx, "keyspace").Result()
	if err != nil {
		return nil, err
	}
	return databasesOf(text), nil
}

// databasesOf reads the lines "db0:keys=..." of INFO keyspace.
func databasesOf(info string) (list []int) {
	for line := range strings.Lines(info) {
		name, _, _ := strings.Cut(line, ":")
		if number, ok := strings.CutPrefix(name, "db"); ok {
			if n, err := strconv.Atoi(number); err == nil {
				list = append(list, n)
			}
		}
	}
	slices.Sort(list)
	return list
}

// copyAll goes over all keys of a database.
func (i *importer) copyAll(ctx context.Context) error {
	keys := i.old.Scan(ctx, 0, "", 1000).Iterator()
	for keys.Next(ctx) {
		if key := keys.Val(); i.rules.Lock(key) {
			if err := i.copyKey(ctx, key); err != nil {
				return fmt.Errorf("%q: %w", key, err)
			}
		}
	}
	return keys.Err()
}

// lease is a lock as the old server has it.
type lease struct {
	words []any // of the script: the value, or the fields and values of a hash in turn
	hash  bool
	left  time.Duration // until it ends; 0 for never
	seen  time.Time     // a moment not before the one at which left was true
}

// copyKey copies one lock. The time between reading it there and writing it here is taken off what is left of it, counted so
// that it ends here no earlier than there, and later by no more than the two round trips.
func (i *importer) copyKey(ctx context.Context, key string) error {
	l, kind, err := i.read(ctx, key)
	switch {
	case err != nil:
		return err
	case kind == "none":
		i.counts.gone++
		return nil
	case l.words == nil:
		i.counts.other++
		return i.tell(key, "is a "+kind+", which no lock needs to go on; not copied")
	}
	left := int64(0)
	if l.left > 0 {
		if left = (l.left - time.Since(l.seen)).Milliseconds() + 1; left <= 0 {
			i.counts.gone++
			return nil
		}
	}
	script := copyString
	if l.hash {
		script = copyHash
	}
	outcome, err := i.new.Eval(ctx, script, []string{key}, append([]any{left}, l.words...)...).Text()
	switch {
	case err != nil:
		return err
	case outcome == "copied":
		i.counts.copied++
	case outcome == "kept":
		i.counts.kept++
	default:
		i.counts.taken++
		return i.tell(key, "is held by somebody else here; not copied")
	}
	return nil
}

func (i *importer) tell(key, what string) error {
	_, err := fmt.Fprintf(i.out, "%q %s\n", key, what)
	return err
}

// read reads a lock in one step. Words is nil when it is neither string nor hash.
func (i *importer) read(ctx context.Context, key string) (l lease, kind string, err error) {
	reply, err := i.old.Eval(ctx, readLock, []string{key}).Slice()
	l.seen = time.Now()
	if err != nil {
		return l, "", err
	}
	kind, _ = reply[0].(string)
	if ms, _ := reply[1].(int64); ms >= 0 {
		l.left = max(time.Duration(ms)*time.Millisecond, time.Millisecond)
	}
	l.hash = kind == "hash"
	if kind == "string" || l.hash {
		l.words, _ = reply[2].([]any)
	}
	return l, kind, nil
}

// The scripts of import. The old server is asked for type, time left and content at one moment. Here a lock is written, or
// extended when it is the very same; nothing is overwritten, and nothing is shortened.
const (
	readLock = `local kind = redis.call('TYPE', KEYS[1])
if type(kind) == 'table' then kind = kind.ok end
local words = {}
if kind == 'string' then words = {redis.call('GET', KEYS[1])} end
if kind == 'hash' then words = redis.call('HGETALL', KEYS[1]) end
return {kind, redis.call('PTTL', KEYS[1]), words}`

	extendSame = `local left = tonumber(ARGV[1])
local now = redis.call('PTTL', KEYS[1])
if now >= 0 and left == 0 then redis.call('PERSIST', KEYS[1]) end
if now >= 0 and left > now then redis.call('PEXPIRE', KEYS[1], left) end
return 'kept'`

	copyString = `local kind = redis.call('TYPE', KEYS[1])
if type(kind) == 'table' then kind = kind.ok end
if kind == 'none' then
	if ARGV[1] == '0' then redis.call('SET', KEYS[1], ARGV[2]) else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[1]) end
	return 'copied'
end
if kind ~= 'string' or redis.call('GET', KEYS[1]) ~= ARGV[2] then return 'taken' end
` + extendSame

	copyHash = `local kind = redis.call('TYPE', KEYS[1])
if type(kind) == 'table' then kind = kind.ok end
if kind == 'none' then
	for i = 2, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
	if ARGV[1] ~= '0' then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
	return 'copied'
end
if kind ~= 'hash' or redis.call('HLEN', KEYS[1]) * 2 ~= #ARGV - 1 then return 'taken' end
for i = 2, #ARGV, 2 do
	if redis.call('HGET', KEYS[1], ARGV[i]) ~= ARGV[i + 1] then return 'taken' end
end
` + extendSame
)
