package integration

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/redfence/redfence/integration/harness"
)

func TestSecondProcessOnADataDirectoryIsRefused(t *testing.T) {
	s := harness.StartRedfence(t)
	harness.Dial(t, s.Addr).Want("OK", "SET", "k", "v")
	code, printed := harness.RunRedfence(t, "--listen", "127.0.0.1:0", "--http-listen", "", "--data-dir", s.Dir)
	if code != 1 || !strings.Contains(printed, s.Dir) || !regexp.MustCompile(`(?i)in use|lock|another`).MatchString(printed) {
		t.Fatalf("exit code %d, printed:\n%s", code, printed)
	}
	harness.Dial(t, s.Addr).Want(`"v"`, "GET", "k")
}

func TestBadUsageExitsWith2(t *testing.T) {
	tests := map[string][]string{
		"unknown flag":        {"--no-such-flag"},
		"unknown subcommand":  {"nosuchcommand"},
		"unknown mode":        {"--mode", "nosuch"},
		"unknown log store":   {"--log-store", "nosuch"},
		"no port":             {"--listen", "127.0.0.1"},
		"bad size":            {"--max-bulk", "lots"},
		"bad number":          {"--max-args", "x"},
		"bad level":           {"--log-level", "loud"},
		"bad format":          {"--log-format", "xml"},
		"nodes in raft mode":  {"--mode", "raft", "--node", "redis://127.0.0.1:1"},
		"a key without cert":  {"--tls-key", "missing.pem"},
		"arguments to a flag": {"serve", "extra"},
	}
	for name, args := range tests {
		t.Run(name, func(t *testing.T) {
			args = append(args, "--data-dir", t.TempDir())
			code, printed := harness.RunRedfence(t, args...)
			if code != 2 || strings.TrimSpace(printed) == "" {
				t.Fatalf("%q: exit code %d, printed:\n%s", args, code, printed)
			}
		})
	}
}

// TestListeningOffLoopbackNeedsAPassword only looks at the refusal: nothing of
// these tests listens on another interface.
func TestListeningOffLoopbackNeedsAPassword(t *testing.T) {
	code, printed := harness.RunRedfence(t, "--listen", "0.0.0.0:0", "--http-listen", "", "--data-dir", t.TempDir())
	if code == 0 || !strings.Contains(printed, "--insecure") {
		t.Fatalf("exit code %d, printed:\n%s", code, printed)
	}
}

func TestPortInUseExitsWith1(t *testing.T) {
	s := harness.StartRedfence(t)
	code, printed := harness.RunRedfence(t, "--listen", s.Addr, "--http-listen", "", "--data-dir", t.TempDir())
	if code != 1 || !strings.Contains(printed, s.Addr) {
		t.Fatalf("exit code %d, printed:\n%s", code, printed)
	}
}

func TestUnusableDataDirectoryExitsWith1(t *testing.T) {
	path := t.TempDir() + "/file"
	if err := os.WriteFile(path, []byte("not a directory"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, printed := harness.RunRedfence(t, "--listen", "127.0.0.1:0", "--http-listen", "", "--data-dir", path)
	if code != 1 || !strings.Contains(printed, path) {
		t.Fatalf("exit code %d, printed:\n%s", code, printed)
	}
}

// TestSigtermStopsWithClientsConnected leaves idle, subscribed and busy
// connections open.
func TestSigtermStopsWithClientsConnected(t *testing.T) {
	s := harness.StartRedfence(t)
	idle, subscriber, busy := harness.Dial(t, s.Addr), harness.Dial(t, s.Addr), harness.Dial(t, s.Addr)
	idle.Want("PONG", "PING")
	subscriber.Do("SUBSCRIBE", "channel")
	for range 100 {
		busy.Send("INCR", "n")
	}
	busy.Receive()
	if code := s.Stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
}

func TestReadyLine(t *testing.T) {
	for _, format := range []string{"console", "json"} {
		t.Run(format, func(t *testing.T) {
			s := harness.StartRedfence(t, "--log-format", format)
			if s.Ready["listen"] != s.Addr || s.Ready["mode"] != "raft" {
				t.Fatalf("ready line fields %v", s.Ready)
			}
			harness.Dial(t, s.Addr).Want("PONG", "PING")
		})
	}
}

// TestDescriptorLimit starts the program with a low soft limit, which it raises
// by itself, and with a low hard limit, which it can only tell of.
func TestDescriptorLimit(t *testing.T) {
	for limit, warned := range map[string]bool{"-Sn 64": false, "-n 64": true} {
		t.Run(limit, func(t *testing.T) {
			s := harness.StartRedfenceWith(t, harness.Options{
				Shell: "ulimit " + limit, Args: []string{"--max-clients", "100"},
			})
			harness.Dial(t, s.Addr).Want("PONG", "PING")
			if got := strings.Contains(s.Stderr(), "limit on open files"); got != warned {
				t.Errorf("warned %v, printed:\n%s", got, s.Stderr())
			}
		})
	}
}
