package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/raftstore"
)

const infoReply = "# Server\r\nredis_version:7.0.15\r\ntcp_port:6380\r\n\r\n" +
	"# Raft\r\nraft_state:leader\r\nraft_leader:[::1]:7380\r\n\r\nnot a field\r\n"

func TestStatusTable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, printStatus(&out, parseInfo(infoReply), nil, false))
	assert.Equal(t, "server\n  redis_version  7.0.15\n  tcp_port       6380\n"+
		"raft\n  raft_state   leader\n  raft_leader  [::1]:7380\n", out.String())
}

func TestStatusJSON(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, printStatus(&out, parseInfo(infoReply), nil, true))
	assert.JSONEq(t, `{"server": {"redis_version": "7.0.15", "tcp_port": "6380"},
		"raft": {"raft_state": "leader", "raft_leader": "[::1]:7380"}}`, out.String())
}

var threeMembers = raftstore.Status{Cluster: "c0ffee", Leader: "a-1", Asked: "b-2", Members: []raftstore.MemberStatus{
	{ID: "a-1", Name: "a", Addr: "h1:7380", Voter: true, State: "leader", Term: 3, Applied: 40, StoreTime: 61_000},
	{ID: "b-2", Name: "b", Addr: "h2:7380", State: "follower", Term: 3, Applied: 38, Lag: 2, LastContact: 12, StoreTime: 60_000},
	{ID: "c-3", Name: "c", Addr: "h3:7380", Voter: true, Error: "connection refused", LastContact: -1},
}}

func TestStatusOfACluster(t *testing.T) {
	t.Parallel()
	var table, object bytes.Buffer
	require.NoError(t, printStatus(&table, nil, &threeMembers, false))
	assert.Equal(t, `members of cluster c0ffee
MEMBER  ADDRESS  VOTE  STATE     TERM  APPLIED  LAG  LAST CONTACT  STORE TIME
a-1     h1:7380  yes   leader    3     40       0    -             1m1s
b-2     h2:7380  no    follower  3     38       2    12ms          1m0s
c-3     h3:7380  yes   no answer: connection refused
`, table.String())
	require.NoError(t, printStatus(&object, parseInfo(infoReply), &threeMembers, true))
	var back struct {
		Members raftstore.Status `json:"cluster_members"`
	}
	require.NoError(t, json.Unmarshal(object.Bytes(), &back))
	assert.Equal(t, threeMembers, back.Members)
}
