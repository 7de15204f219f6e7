package upstream

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/commands/resp"
)

// commandReply is what redis-server 7.0.15 answers to COMMAND INFO for some commands, shortened to what is read.
func commandReply(t *testing.T) resp.Value {
	t.Helper()
	spec := func(begin, find string) string { return "*4\r\n+begin_search\r\n" + begin + "+find_keys\r\n" + find }
	index := func(n string) string { return "*4\r\n+type\r\n+index\r\n+spec\r\n*2\r\n+index\r\n:" + n + "\r\n" }
	keyword := func(word, from string) string {
		return "*4\r\n+type\r\n+keyword\r\n+spec\r\n*4\r\n+keyword\r\n+" + word + "\r\n+startfrom\r\n:" + from + "\r\n"
	}
	span := func(last, limit string) string {
		return "*4\r\n+type\r\n+range\r\n+spec\r\n*6\r\n+lastkey\r\n:" + last + "\r\n+keystep\r\n:1\r\n+limit\r\n:" + limit + "\r\n"
	}
	counted := "*4\r\n+type\r\n+keynum\r\n+spec\r\n*6\r\n+keynumidx\r\n:0\r\n+firstkey\r\n:1\r\n+keystep\r\n:1\r\n"
	row := func(name, flags, keys string, subs ...string) string {
		list := "*0\r\n"
		if len(subs) > 0 {
			list = "*1\r\n" + strings.Join(subs, "")
		}
		return "*10\r\n+" + name + "\r\n:-2\r\n" + flags + ":0\r\n:0\r\n:0\r\n*0\r\n*0\r\n" + keys + list
	}
	rows := []string{
		row("xadd", "*0\r\n", "*1\r\n"+spec(index("1"), span("0", "0"))),
		row("xread", "*2\r\n+readonly\r\n+blocking\r\n", "*1\r\n"+spec(keyword("STREAMS", "1"), span("-1", "2"))),
		row("fcall", "*0\r\n", "*1\r\n"+spec(index("2"), counted)),
		row("georadius", "*0\r\n", "*2\r\n"+spec(index("1"), span("0", "0"))+spec(keyword("STORE", "6"), span("0", "0"))),
		row("pfmerge", "*0\r\n", "*1\r\n"+spec(index("1"), span("-1", "0"))),
		row("migrate", "*0\r\n", "*1\r\n"+spec(keyword("KEYS", "-2"), span("-1", "0"))),
		row("xinfo", "*0\r\n", "*0\r\n", row("xinfo|stream", "*0\r\n", "*1\r\n"+spec(index("2"), span("0", "0")))),
		row("monitor", "*0\r\n", "*0\r\n"),
	}
	v, rest, err := resp.Decode("*8\r\n" + strings.Join(rows, ""))
	require.NoError(t, err)
	require.Empty(t, rest)
	return v
}

func TestKeysOfUnknownCommands(t *testing.T) {
	tests := map[string]struct {
		line string
		keys []string
	}{
		"at a place":                {"XADD s * f v", []string{"s"}},
		"behind a word":             {"xread count 2 streams a b 0 0", []string{"a", "b"}},
		"without the word":          {"xread count 2", nil},
		"counted":                   {"fcall f 2 a b c", []string{"a", "b"}},
		"counted too many":          {"fcall f 9 a", []string{"a"}},
		"counted by a word":         {"fcall f x a", nil},
		"of two kinds":              {"georadius g 1 2 3 m store d", []string{"g", "d"}},
		"to the end":                {"pfmerge a b c", []string{"a", "b", "c"}},
		"behind the last such word": {"migrate h 1 keys 0 9 keys a b", []string{"a", "b"}},
		"of a subcommand":           {"xinfo stream s full", []string{"s"}},
		"of no subcommand":          {"xinfo nosuch s", nil},
	}
	table := readTable(commandReply(t))
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d, err := table.describe(strings.Fields(tt.line))
			require.NoError(t, err)
			require.Equal(t, tt.keys, d.Keys)
		})
	}
}

func TestUnknownAndRefusedCommands(t *testing.T) {
	table := readTable(commandReply(t))
	_, err := table.describe([]string{"nosuch", "x"})
	require.Equal(t, resp.UnknownCommand([]string{"nosuch", "x"}), err)
	_, err = table.describe([]string{"MONITOR"})
	require.Equal(t, resp.NotPassed("monitor"), err)
}

func TestKeysAsRedis6Tells(t *testing.T) {
	v, _, err := resp.Decode("*1\r\n*7\r\n+bitop\r\n:-4\r\n*1\r\n+write\r\n:2\r\n:-1\r\n:1\r\n*0\r\n")
	require.NoError(t, err)
	d, err := readTable(v).describe([]string{"BITOP", "AND", "d", "a", "b"})
	require.NoError(t, err)
	require.Equal(t, []string{"d", "a", "b"}, d.Keys)
}
