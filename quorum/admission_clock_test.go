package quorum_test

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
)

// steppedServer is a redis-server whose wall clock a test can move.
type steppedServer struct {
	*harness.Server
	t    *testing.T
	file string
}

// startSteppedServer is skipped where there is no C compiler.
func startSteppedServer(t *testing.T) steppedServer {
	t.Helper()
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("skipped: no C compiler for the clock of a redis-server")
	}
	dir := t.TempDir()
	library := filepath.Join(dir, "stepped_clock.so")
	out, err := exec.Command(compiler, "-shared", "-fPIC", "-O1", "-o", library, "testdata/stepped_clock.c").CombinedOutput()
	if err != nil {
		t.Skipf("skipped: the clock of a redis-server does not compile: %v\n%s", err, out)
	}
	s := steppedServer{t: t, file: filepath.Join(dir, "offset")}
	if err := os.WriteFile(s.file, make([]byte, 8), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("LD_PRELOAD", library)
	t.Setenv("CLOCK_OFFSET_FILE", s.file)
	s.Server = harness.StartRedis(t)
	if err := os.Unsetenv("LD_PRELOAD"); err != nil {
		t.Fatal(err)
	}
	return s
}

// step moves the clock, and shows that it has moved.
func (s steppedServer) step(offset time.Duration) {
	s.t.Helper()
	f, err := os.OpenFile(s.file, os.O_WRONLY, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(offset.Microseconds())), 0); err != nil {
		s.t.Fatal(err)
	}
	seconds := harness.Dial(s.t, s.Addr).Do("TIME").Elems[0].Text
	shown, err := time.ParseDuration(seconds + "s")
	if err != nil || (shown-time.Duration(time.Now().UnixNano())-offset).Abs() > 5*time.Second {
		s.t.Fatalf("TIME is %v, want now and %v: the test would prove nothing", shown, offset)
	}
}

func TestANodeWhoseClockSteppedIsBroughtUpToDate(t *testing.T) {
	for name, offset := range map[string]time.Duration{"an hour forward": time.Hour, "an hour back": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			_, addrs := startServers(t)
			stepped := startSteppedServer(t)
			addrs[2] = stepped.Addr
			p, other := startProxy(t, 0, addrs...), startProxy(t, 0, addrs...)
			p.want(allCount)
			other.want(allCount)
			p.everywhere(0, "SET", "lock", "me", "PX", "100000")
			stepped.step(offset)
			// Every answer from now on is marked, until the node has been brought up to date.
			for admitted := false; !admitted; {
				o := p.do(2, "GET", "lock")
				admitted = o.Reason == "" && !o.Answer.Quarantined
				if admitted && o.Answer.Reply.Str != "me" {
					t.Fatalf("a node whose clock stepped says that the lock is free: %+v", o.Answer)
				}
			}
			if !strings.Contains(p.log.String(), "its clock stepped by") {
				t.Error("no word about the clock")
			}
			if after := ttl(t, stepped.Server, "lock"); after <= 0 || after > 100_000 {
				t.Errorf("TTL is %d", after)
			}
			p.want(allCount)
			other.want(allCount)
		})
	}
}
