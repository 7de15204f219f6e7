package integration

import (
	"os"
	"testing"

	"github.com/redfence/redfence/integration/harness"
)

// TestMain removes the redfence binaries that the tests built.
func TestMain(m *testing.M) {
	code := m.Run()
	harness.RemoveBuilds()
	os.Exit(code)
}
