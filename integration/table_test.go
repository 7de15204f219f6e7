package integration

import (
	"slices"
	"strings"
	"testing"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/integration/harness"
)

// ownCommands have no counterpart in Redis 7.0: fencing and what is about the cluster is ours, the others came later.
var ownCommands = []string{
	"fence", "fence.check", "fence.last", "client|fencing", "redfence", "redfence|help", "redfence|member", "redfence|status", "delex", "digest", "waitaof", "client|setinfo", "client|capa", "client|no-touch", "cluster|myshardid",
}

// otherArity are the commands that took more arguments in Redis 7.2.
var otherArity = []string{"zrank", "zrevrank"}

// TestTableSaysWhatRedisSays compares each row of the command table with COMMAND INFO of a real redis-server: arity,
// key positions, and the flags that decide what a client, a script or a full memory may do with the command.
func TestTableSaysWhatRedisSays(t *testing.T) {
	redis := harness.Dial(t, harness.StartRedis(t).Addr)
	for _, spec := range commands.All() {
		t.Run(spec.Name, func(t *testing.T) {
			info := redis.Do("COMMAND", "INFO", spec.Name).Elems[0]
			if len(info.Elems) == 0 {
				if !slices.Contains(ownCommands, spec.Name) {
					t.Errorf("redis-server 7.0 does not know it; if that is right, add it to ownCommands")
				}
				return
			}
			if strings.HasPrefix(spec.Name, "cluster|") {
				return // all are refused with one text
			}
			arity, _ := info.Elems[1].Int()
			if int(arity) != spec.Arity && !slices.Contains(otherArity, spec.Name) {
				t.Errorf("arity %d, redis-server says %d", spec.Arity, arity)
			}
			compareFlags(t, spec, info.Elems[2].String())
			compareKeys(t, spec, info.Elems[3:6])
		})
	}
}

func compareFlags(t *testing.T, spec *commands.Spec, theirs string) {
	t.Helper()
	for name, flag := range map[string]commands.Flags{
		"write": commands.Write, "readonly": commands.ReadOnly,
		"denyoom": commands.DenyOOM, "noscript": commands.NoScript, "blocking": commands.Blocking,
		"no_auth": commands.NoAuth, "no_multi": commands.NoMulti,
	} {
		if has, want := spec.Flags.Has(flag), hasWord(theirs, name); has != want {
			t.Errorf("flag %s: %v, redis-server says %v", name, has, want)
		}
	}
}

func hasWord(list, word string) bool {
	return slices.Contains(strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune("[]{}~, ", r) }), word)
}

func compareKeys(t *testing.T, spec *commands.Spec, theirs []harness.Reply) {
	t.Helper()
	if spec.Flags.Has(commands.MovableKeys) {
		return // Redis cannot say it in three numbers
	}
	for i, ours := range []int{spec.Keys.First, spec.Keys.Last, spec.Keys.Step} {
		if n, _ := theirs[i].Int(); int(n) != ours {
			t.Errorf("key positions %+v, redis-server says %v", spec.Keys, theirs)
			return
		}
	}
}

// TestTableIsComplete wants of each row what the documentation and COMMAND DOCS show.
func TestTableIsComplete(t *testing.T) {
	for _, spec := range commands.All() {
		if spec.Summary == "" || !strings.HasSuffix(spec.Summary, ".") {
			t.Errorf("%s: the summary is no sentence: %q", spec.Name, spec.Summary)
		}
		if spec.Group == "" || (spec.Since == "" && spec.Sub == nil) {
			t.Errorf("%s: group %q, since %q", spec.Name, spec.Group, spec.Since)
		}
		if spec.Arity == 0 || spec.Name != strings.ToLower(spec.Name) {
			t.Errorf("%s: arity %d", spec.Name, spec.Arity)
		}
	}
}
