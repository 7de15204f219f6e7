package harness

import (
	"bufio"
	"strings"
	"testing"
	"time"
)

func TestReadReplyShowsEveryType(t *testing.T) {
	tests := map[string]struct{ wire, want string }{
		"status":      {"+OK\r\n", `OK`},
		"error":       {"-ERR no\r\n", `(error) ERR no`},
		"integer":     {":-3\r\n", `(integer) -3`},
		"bulk":        {"$4\r\na\r\nb\r\n", `"a\r\nb"`},
		"nil bulk":    {"$-1\r\n", `(nil)`},
		"nil array":   {"*-1\r\n", `(nil array)`},
		"null":        {"_\r\n", `(null)`},
		"empty array": {"*0\r\n", `[]`},
		"nested":      {"*2\r\n*1\r\n:1\r\n$1\r\nx\r\n", `[[(integer) 1], "x"]`},
		"map":         {"%1\r\n$1\r\nk\r\n:1\r\n", `{"k": (integer) 1}`},
		"set":         {"~1\r\n+a\r\n", `~[a]`},
		"push":        {">1\r\n+a\r\n", `>[a]`},
		"double":      {",1.5\r\n", `(double) "1.5"`},
		"boolean":     {"#t\r\n", `(boolean) "t"`},
		"verbatim":    {"=5\r\ntxt:x\r\n", `(verbatim) "txt:x"`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			reply, err := ReadReply(bufio.NewReader(strings.NewReader(tc.wire)))
			if err != nil {
				t.Fatal(err)
			}
			if reply.String() != tc.want || string(reply.Raw) != tc.wire {
				t.Fatalf("%q reads as %s with raw %q, want %s", tc.wire, reply, reply.Raw, tc.want)
			}
		})
	}
}

func TestReadReplyRefusesWhatIsNotRESP(t *testing.T) {
	for _, wire := range []string{"", "+OK\n", "?x\r\n", "$x\r\n", "$-2\r\n", "$1\r\nabc", "*1\r\n"} {
		if reply, err := ReadReply(bufio.NewReader(strings.NewReader(wire))); err == nil {
			t.Errorf("%q reads as %s", wire, reply)
		}
	}
}

func TestParseReady(t *testing.T) {
	tests := map[string]struct {
		line, listen string
	}{
		"plain":   {"redfence ready listen=127.0.0.1:1 mode=raft", "127.0.0.1:1"},
		"console": {"2026-01-01T00:00:00Z\tinfo\tredfence ready listen=127.0.0.1:2 mode=raft", "127.0.0.1:2"},
		"json":    {`{"level":"info","msg":"redfence ready","listen":"127.0.0.1:3","mode":"raft"}`, "127.0.0.1:3"},
		"other":   {"redfence starting", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			fields, ok := parseReady(tc.line)
			if ok != (tc.listen != "") || fields["listen"] != tc.listen {
				t.Fatalf("%q parsed as %v, %v", tc.line, fields, ok)
			}
		})
	}
}

func TestServerStopsKillsPausesAndRestarts(t *testing.T) {
	s := StartRedis(t)
	addr := s.Addr
	Dial(t, addr).Want("PONG", "PING")
	if s.RSS() <= 0 || s.PeakRSS() < s.RSS()/2 {
		t.Fatalf("memory reads as %d, peak %d", s.RSS(), s.PeakRSS())
	}
	s.Pause()
	paused := Dial(t, addr)
	paused.Send("PING")
	if !paused.Silent(20 * time.Millisecond) {
		t.Fatal("a paused server answered")
	}
	s.Resume()
	s.Kill()
	s.Restart()
	if s.Addr != addr {
		t.Fatalf("restarted on %s, was on %s", s.Addr, addr)
	}
	Dial(t, addr).Want("PONG", "PING")
	if code := s.Stop(); code != 0 || s.Running() {
		t.Fatalf("exit code %d, running %v", code, s.Running())
	}
}
