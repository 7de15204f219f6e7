package integration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redfence/redfence/integration/harness"
)

const oom = "(error) OOM command not allowed when used memory > 'maxmemory'."

// TestMaxMemory fills the real program to its limit. Then growth is refused,
// also after a restart, and locks that are held are renewed and given back.
func TestMaxMemory(t *testing.T) {
	s := harness.StartRedfence(t, "--max-memory", "1mb", "--max-bulk", "256kb")
	c := harness.Dial(t, s.Addr)
	c.Want("OK", "SET", "lock", "owner", "NX", "PX", "600000")
	for i := 0; c.Do("SET", fmt.Sprint("fill:", i), strings.Repeat("x", 100_000)).String() != oom; i++ {
		if i > 20 {
			t.Fatal("2 MB are stored")
		}
	}
	wantFull(t, c)
	s.Restart()
	c = harness.Dial(t, s.Addr)
	wantFull(t, c)
	c.Want("OK", "MULTI")
	c.Want("QUEUED", "SET", "new", "v")
	if got := c.Do("EXEC").String(); !strings.HasPrefix(got, "(error) EXECABORT") || !strings.Contains(got, "OOM") {
		t.Errorf("EXEC answered %s", got)
	}
	c.Want("(integer) 1", "PEXPIRE", "lock", "700000")
	c.Want("(nil)", "SET", "lock", "other", "NX", "PX", "1000")
	c.Want("(integer) 1", "EVAL", compareAndDelete, "1", "lock", "owner")
	c.Want("(integer) 1", "DEL", "fill:0")
	c.Want("OK", "SET", "lock", "other", "NX", "PX", "1000")
}

func wantFull(t *testing.T, c *harness.Conn) {
	t.Helper()
	c.Want(oom, "SET", "new", "v", "NX", "PX", "1000")
	text := "return redis.call('SET', KEYS[1], 'v')"
	if got := c.Do("EVAL", text, "1", "new").String(); !strings.HasPrefix(got, oom+" script: ") {
		t.Errorf("EVAL answered %s", got)
	}
	info := c.Do("INFO", "memory").Text
	used, limit := figure(t, info, `(?m)^used_memory:(\d+)\r?$`), figure(t, info, `(?m)^maxmemory:(\d+)\r?$`)
	if limit != 1<<20 || used <= limit || used > limit+(256<<10) {
		t.Errorf("INFO tells of %d bytes used, limit %d", used, limit)
	}
	if got := c.Do("CONFIG", "GET", "maxmemory"); len(got.Elems) != 2 || got.Elems[1].Text != "1048576" {
		t.Errorf("CONFIG GET maxmemory answered %s", got)
	}
}
