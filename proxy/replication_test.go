package proxy

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOneOfSeveralIsTheMaster asks for the role of a process that is told which one is the master.
func TestOneOfSeveralIsTheMaster(t *testing.T) {
	tests := map[string]struct {
		master Master
		role   string
		info   []string
		hello  string
	}{
		"alone": {nil, "*3 $6 master :0 *0", []string{"role:master"}, "$4 role $6 master"},
		"this one": {
			func() (string, bool) { return "here:6380", true },
			"*3 $6 master :0 *0",
			[]string{"role:master", "connected_slaves:0"},
			"$4 role $6 master",
		},
		"another": {
			func() (string, bool) { return "there:6380", false }, "*5 $5 slave $5 there :6380 $9 connected :0",
			[]string{"role:slave", "master_host:there", "master_port:6380", "master_link_status:up", "connected_slaves:0"},
			"$4 role $7 replica",
		},
		"nobody": {
			func() (string, bool) { return "", false }, "*5 $5 slave $0  :0 $7 connect :0",
			[]string{"role:slave", "master_host:", "master_link_status:down"},
			"$4 role $7 replica",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, addr := start(t, Config{Master: tt.master})
			c := dial(t, addr)
			require.Equal(t, tt.role, c.do("ROLE"))
			info := c.do("INFO replication")
			for _, line := range tt.info {
				require.Contains(t, info, line+"\r\n")
			}
			require.Contains(t, c.do("HELLO 2"), tt.hello)
		})
	}
}
