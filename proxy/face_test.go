package proxy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

// fakeFace answers each question with its name.
type fakeFace struct{ table *commands.Table }

func (fakeFace) Mode() string                          { return "sentinel" }
func (f fakeFace) Table() *commands.Table              { return f.table }
func (fakeFace) Answers() []string                     { return []string{"role"} }
func (fakeFace) Answer(r *commands.Request) resp.Value { return resp.Str(r.Spec.Name) }
func (fakeFace) Info() InfoSection {
	return InfoSection{Name: "Sentinel", Lines: []string{"master0:x"}}
}

// startFace runs a server that answers as a Sentinel, before a backend that hears nothing.
func startFace(t *testing.T, password string) (*Server, string) {
	t.Helper()
	unasked := func(*Call) { t.Error("the backend was asked") }
	deaf := func(_ Topic, ready func(error)) { ready(resp.ErrNoLeader) }
	return start(t, Config{
		Face: fakeFace{commands.SentinelTable()}, Password: password, Backend: &fakeBackend{submit: unasked, listen: deaf},
	})
}

func TestAServerWithAFace(t *testing.T) {
	srv, addr := startFace(t, "")
	c := dial(t, addr)
	require.Contains(t, c.do("SENTINEL masters"), "sentinel|masters")
	require.Equal(t, "$4 role", c.do("ROLE"))
	require.Equal(t, "+PONG", c.do("PING"))
	require.Contains(t, c.do("GET x"), "unknown command 'GET'")
	require.Contains(t, c.do("SENTINEL HELP"), "MASTERS")
	require.Contains(t, c.do("INFO"), "redis_mode:sentinel")
	require.Contains(t, c.do("INFO sentinel"), "master0:x")
	hello := c.do("HELLO 3")
	require.Contains(t, hello, "sentinel")
	require.NotContains(t, hello, "role")
	require.NotContains(t, c.do("COMMAND LIST"), " get")
	require.Contains(t, c.do("COMMAND LIST"), " sentinel")

	sub := dial(t, addr)
	require.Contains(t, sub.do("SUBSCRIBE +switch-master"), "subscribe")
	srv.Announce("+switch-master", "m a 1 b 2")
	require.Contains(t, sub.next(), "m a 1 b 2")
}

func TestAFaceAsksForThePassword(t *testing.T) {
	_, addr := startFace(t, "secret")
	c := dial(t, addr)
	require.Equal(t, "-"+string(resp.ErrNoAuth), c.do("SENTINEL masters"))
	require.Equal(t, "+OK", c.do("AUTH secret"))
	require.Contains(t, c.do("SENTINEL masters"), "sentinel|masters")
}

func TestADataServerHasNoFace(t *testing.T) {
	_, addr := start(t, Config{})
	require.Contains(t, dial(t, addr).do("SENTINEL masters"), "unknown command 'SENTINEL'")
}
