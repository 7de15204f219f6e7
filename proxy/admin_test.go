package proxy

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

func TestAPauseHoldsBackWrites(t *testing.T) {
	tests := map[string]struct{ mode, held, free string }{
		"SET":                   {"WRITE", "SET a 1", "GET a"},
		"PUBLISH":               {"WRITE", "PUBLISH ch m", "PING"},
		"EVAL":                  {"WRITE", "EVAL 'return 1' 0", "EVAL_RO 'return 1' 0"},
		"queued write":          {"WRITE", "MULTI\r\nSET a 1\r\nEXEC", "MULTI\r\nGET a\r\nDISCARD"},
		"everything":            {"ALL", "PING", ""},
		"everything by default": {"", "GET a", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var w witness
			srv, addr := start(t, Config{Backend: &fakeBackend{submit: w.submit}})
			admin, free, c := dial(t, addr), dial(t, addr), dial(t, addr)
			require.Equal(t, "+OK", admin.do(strings.TrimSpace("CLIENT PAUSE 600000 "+tt.mode)))
			if tt.free != "" {
				free.send(tt.free + "\r\nPING done\r\n")
				for free.next() != "$4 done" {
				}
			}
			c.send(tt.held + "\r\nECHO behind\r\n")
			require.NoError(t, c.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
			for err := error(nil); err == nil; { // what is in front of the held command is answered
				var reply string
				reply, err = readReply(c.r)
				require.NotContains(t, reply, "behind")
			}
			require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
			srv.pause.set(noPause)
			for c.next() != "$6 behind" {
			}
		})
	}
}

func TestAPauseEndsByItself(t *testing.T) {
	_, addr := start(t, Config{})
	c := dial(t, addr)
	began := time.Now()
	require.Equal(t, "+OK", c.do("CLIENT PAUSE 100"))
	require.Equal(t, "+PONG", c.do("PING"))
	require.GreaterOrEqual(t, time.Since(began), 100*time.Millisecond)
}

// Nobody can talk to a paused server, so neither the end of a session nor that of the server may wait.
func TestSessionsEndDuringAPause(t *testing.T) {
	srv, addr := start(t, Config{})
	c, other := dial(t, addr), dial(t, addr)
	require.Equal(t, "+OK", c.do("CLIENT PAUSE 600000"))
	other.send("PING\r\n")
	for _, s := range srv.all() {
		s.kill()
	}
	require.Eventually(t, func() bool { return len(srv.all()) == 0 }, patience, time.Millisecond)
	last := dial(t, addr)
	last.send("PING\r\n")
	require.Eventually(t, func() bool { return len(srv.all()) == 1 }, patience, time.Millisecond)
	require.NoError(t, srv.Shutdown(t.Context()))
}

func TestClientKillEndsOthersAtOnce(t *testing.T) {
	var h held
	_, addr := start(t, Config{Backend: &fakeBackend{submit: h.take}})
	admin, victim := dial(t, addr), dial(t, addr)
	id := strings.TrimPrefix(victim.do("CLIENT ID"), ":")
	victim.send("GET unanswered\r\n")
	h.await(t, 1)
	require.Equal(t, ":1", admin.do("CLIENT KILL ID "+id))
	require.Empty(t, victim.rest())
	require.Equal(t, "+PONG", admin.do("PING"))
	require.Equal(t, "+OK", admin.do("CLIENT KILL "+admin.LocalAddr().String()))
	require.Empty(t, admin.rest())
}

func TestConfigResetStat(t *testing.T) {
	_, addr := start(t, Config{})
	c := dial(t, addr)
	c.do("NOSUCH")
	require.Contains(t, c.do("INFO stats"), "total_error_replies:1")
	require.Equal(t, "+OK", c.do("CONFIG RESETSTAT"))
	require.Contains(t, c.do("INFO stats"), "total_error_replies:0")
}

// Every container has a HELP that names all its subcommands.
func TestHelpNamesAllSubcommands(t *testing.T) {
	_, addr := start(t, Config{})
	c := dial(t, addr)
	for _, spec := range commands.All() {
		if spec.Sub == nil || spec.Sub["help"].Raft != commands.Local {
			continue // no container, or one that the backend answers for
		}
		reply := c.do(spec.Name + " help")
		if spec.Group == commands.Cluster {
			require.Equal(t, "-"+string(resp.ErrNoCluster), reply)
			continue
		}
		for name := range spec.Sub {
			require.Contains(t, reply, "+"+strings.ToUpper(name))
		}
	}
}
