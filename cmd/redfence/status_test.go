package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const infoReply = "# Server\r\nredis_version:7.0.15\r\ntcp_port:6380\r\n\r\n" +
	"# Raft\r\nraft_state:leader\r\nraft_leader:[::1]:7380\r\n\r\nnot a field\r\n"

func TestStatusTable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, printTable(&out, parseInfo(infoReply)))
	assert.Equal(t, "server\n  redis_version  7.0.15\n  tcp_port       6380\n"+
		"raft\n  raft_state   leader\n  raft_leader  [::1]:7380\n", out.String())
}

func TestStatusJSON(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, printJSON(&out, parseInfo(infoReply)))
	assert.JSONEq(t, `{"server": {"redis_version": "7.0.15", "tcp_port": "6380"},
		"raft": {"raft_state": "leader", "raft_leader": "[::1]:7380"}}`, out.String())
}
