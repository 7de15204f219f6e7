package runner

import (
	"fmt"
	"strings"

	"github.com/redfence/redfence/commands"
)

// classes are the commands that lua/exec.lua treats in a way of their own.
var classes = map[string]string{
	"set": "s", "delex": "d", "fence": "f", "fence.check": "k", "fence.last": "j", "time": "i", "publish": "m", "spublish": "m", "ping": "r", "echo": "r",
	"smembers": "u", "sinter": "u", "sunion": "u", "sdiff": "u", "hkeys": "u", "hvals": "u", "hgetall": "u", "keys": "u",
	"dbsize": "u", "scan": "c", "hscan": "c", "sscan": "c", "zscan": "c",
	"srandmember": "x", "hrandfield": "x", "zrandmember": "x", "randomkey": "x", "spop": "x",
	"select": "q", "move": "q", "swapdb": "q", "flushdb": "q", "flushall": "q", "digest": "q",
	"blmpop": "q", "bzmpop": "q", "object": "r", "watch": "l",
}

// effects are what commands do to a hold, see lua/exec.lua.
var effects = map[string]string{
	"del": "d", "unlink": "d", "getdel": "d", "delex": "d", "rename": "d", "renamenx": "d",
	"hdel": "e", "lrem": "e", "zrem": "e", "srem": "e", "smove": "e", "hincrby": "e", "hincrbyfloat": "e",
	"setex": "o", "psetex": "o", "getset": "o", "mset": "o", "msetnx": "o", "copy": "o", "zrangestore": "o",
	"sunionstore": "o", "sinterstore": "o", "sdiffstore": "o", "zunionstore": "o", "zinterstore": "o", "zdiffstore": "o", "sort": "o",
	"expire": "t", "pexpire": "t", "expireat": "t", "pexpireat": "t",
}

// hotFirst are the commands of locks, which stand first in the text that is searched for each call.
var hotFirst = []string{"get", "set", "del", "exists", "hexists", "hincrby", "pexpire", "pttl", "hget", "hset", "hdel", "publish"}

// rowsText is the command table as lua/exec.lua searches it.
func rowsText() string {
	var out strings.Builder
	done := map[string]bool{}
	write := func(s *commands.Spec) {
		if done[s.Name] || strings.Contains(s.Name, "|") {
			return
		}
		done[s.Name] = true
		k := s.Keys
		if s.Name == "object" {
			k = commands.KeySpec{First: 2, Last: 2}
		}
		fmt.Fprintf(&out, "\n%s=%s%d,%d,%d,%d,%s", s.Name, classOf(s), k.First, k.Last, max(k.Step, 1), k.Num, effects[s.Name])
	}
	for _, name := range hotFirst {
		if s, err := commands.Lookup([]string{name}); err == nil {
			write(s)
		}
	}
	for _, s := range commands.All() {
		write(s)
	}
	return out.String()
}

func classOf(s *commands.Spec) string {
	switch class, special := classes[s.Name]; {
	case special:
		return class
	case s.Sub != nil || s.Raft == commands.Local || s.Flags.Has(commands.NoScript):
		return "l"
	case s.Flags.Has(commands.Write):
		return "w"
	}
	return "r"
}
