package integration

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
)

// TestOversell runs the demo as people do. Without the token one widget is sold twice, with it once, in both modes.
func TestOversell(t *testing.T) {
	program := harness.Binary(t, harness.Options{})
	for _, mode := range words("raft quorum") {
		t.Run(mode, func(t *testing.T) {
			if _, err := exec.LookPath("redis-server"); err != nil && mode == "quorum" {
				t.Skip("redis-server is not installed")
			}
			began := time.Now()
			printed, err := exec.CommandContext(t.Context(), program, "demo", "oversell", "--mode", mode).CombinedOutput()
			t.Logf("took %v\n%s", time.Since(began), printed)
			if err != nil {
				t.Fatal(err)
			}
			without, with, _ := strings.Cut(string(printed), "WITH the token")
			for _, want := range []string{"(SIGSTOP)", "(SIGCONT)", "A         buys the widget: -1 left", "=> stock: -1"} {
				if !strings.Contains(without, want) {
					t.Errorf("without the token: no %q", want)
				}
			}
			for _, want := range []string{"(SIGSTOP)", "B         buys the widget: 0 left", "A         wants to buy: REFUSED", "=> stock: 0"} {
				if !strings.Contains(with, want) {
					t.Errorf("with the token: no %q", want)
				}
			}
		})
	}
}

// TestOversellWithoutRedis tells what is missing.
func TestOversellWithoutRedis(t *testing.T) {
	program := harness.Binary(t, harness.Options{})
	t.Setenv("PATH", t.TempDir())
	printed, err := exec.CommandContext(t.Context(), program, "demo", "oversell", "--mode", "quorum").CombinedOutput()
	if err == nil || !strings.Contains(string(printed), "redis-server") {
		t.Errorf("%v: %s", err, printed)
	}
}
