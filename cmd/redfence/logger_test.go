package main

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// logWith returns what a log of the given level and format holds after write.
func logWith(t *testing.T, level, format string, write func(*logger)) string {
	t.Helper()
	var out bytes.Buffer
	log, err := newLogger(Config{LogLevel: level, LogFormat: format}, &out)
	require.NoError(t, err)
	write(log)
	return out.String()
}

func TestReadyLineIsExact(t *testing.T) {
	t.Parallel()
	ready := func(l *logger) { assert.NoError(t, l.Ready("127.0.0.1:6380", "raft")) }
	for _, level := range []string{"debug", "error"} {
		assert.Equal(t, "redfence ready listen=127.0.0.1:6380 mode=raft\n", logWith(t, level, "console", ready))

		var record map[string]string
		require.NoError(t, json.Unmarshal([]byte(logWith(t, level, "json", ready)), &record))
		assert.Equal(t, "redfence ready", record["msg"])
		assert.Equal(t, "127.0.0.1:6380", record["listen"])
		assert.Equal(t, "raft", record["mode"])
	}
}

func TestLevelsAndFields(t *testing.T) {
	t.Parallel()
	write := func(l *logger) {
		l.Debug("unseen")
		l.With("node", "n1").Warn("slow disk", "took", 3*time.Second)
	}
	console := logWith(t, "info", "console", write)
	assert.NotContains(t, console, "unseen")
	assert.Contains(t, console, "WARN\tslow disk\t")
	assert.Contains(t, console, `"node": "n1"`)

	var record map[string]any
	require.NoError(t, json.Unmarshal([]byte(logWith(t, "info", "json", write)), &record))
	assert.Equal(t, "warn", record["level"])
	assert.Equal(t, "slow disk", record["msg"])
	assert.Equal(t, "n1", record["node"])
	_, err := time.Parse(time.RFC3339Nano, record["ts"].(string))
	assert.NoError(t, err)
}
