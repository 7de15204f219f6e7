package keyspace

import (
	"bufio"
	"bytes"
	"cmp"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/integration/harness"
)

// TestRepliesAreThoseOfRedis runs testdata/redis.txt here and on a real redis-server and compares the bytes.
func TestRepliesAreThoseOfRedis(t *testing.T) {
	reference := harness.StartRedis(t)
	for _, protocol := range []resp.Protocol{resp.RESP2, resp.RESP3} {
		conn := harness.Dial(t, reference.Addr)
		conn.Do("HELLO", strconv.Itoa(int(protocol)))
		for title, lines := range redisLines(t) {
			t.Run(title+"/resp"+strconv.Itoa(int(protocol)), func(t *testing.T) {
				conn.Want("OK", "FLUSHALL")
				compare(t, conn, New(), lines, protocol)
			})
		}
	}
}

func compare(t *testing.T, conn *harness.Conn, ks *Keyspace, lines []redisLine, protocol resp.Protocol) {
	t.Helper()
	for _, l := range lines {
		now := time.Now()
		got := do(t, ks, Stamp{Now: now.UnixMilli(), Wall: now.UnixMicro()}, l.args...)
		theirs := conn.Do(l.args...)
		ours, err := harness.ReadReply(bufio.NewReader(bytes.NewReader(resp.Append(nil, got, protocol))))
		if err != nil {
			t.Fatalf("%s: our reply is malformed: %v", l.text, err)
		}
		if l.unordered {
			sortReply(ours)
			sortReply(theirs)
		}
		if ours.String() != theirs.String() || ours.Kind != theirs.Kind {
			t.Errorf("%s\nredis-server: %c %s\nkeyspace:     %c %s", l.text, theirs.Kind, theirs, ours.Kind, ours)
		}
	}
}

func sortReply(r harness.Reply) {
	slices.SortFunc(r.Elems, func(a, b harness.Reply) int { return cmp.Compare(a.Text, b.Text) })
}

type redisLine struct {
	text      string
	args      []string
	unordered bool
}

// redisLines reads the command lines by title.
func redisLines(t *testing.T) map[string][]redisLine {
	t.Helper()
	text, err := os.ReadFile("testdata/redis.txt")
	if err != nil {
		t.Fatal(err)
	}
	byTitle, title := map[string][]redisLine{}, ""
	for line := range strings.SplitSeq(string(text), "\n") {
		switch {
		case line == "" || line[0] == '#':
		case strings.HasPrefix(line, "== "):
			title = strings.TrimPrefix(line, "== ")
		default:
			plain := strings.TrimPrefix(line, "~")
			byTitle[title] = append(byTitle[title], redisLine{line, words(plain), plain != line})
		}
	}
	return byTitle
}

// words splits a line at blanks, except within double quotes.
func words(line string) (all []string) {
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimLeft(line, " ") {
		if quoted, err := strconv.QuotedPrefix(line); err == nil {
			word, _ := strconv.Unquote(quoted)
			all, line = append(all, word), line[len(quoted):]
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		all, line = append(all, word), rest
	}
	return all
}

// TestEveryStoreCommandHasAHandler keeps the table and the handlers in step. Scripts are run by the caller.
func TestEveryStoreCommandHasAHandler(t *testing.T) {
	handlers := allHandlers()
	for _, spec := range commands.All() {
		runsScript := spec.Group == commands.Scripting && spec.Keys.Num > 0
		wanted := spec.Raft != commands.Local && !runsScript
		if _, has := handlers[spec.Name]; has != wanted {
			t.Errorf("%s: has a handler %v, want %v", spec.Name, has, wanted)
		}
		delete(handlers, spec.Name)
	}
	for name := range handlers {
		t.Errorf("the handler of %s has no row in the command table", name)
	}
}
