package proxy

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/proxy/tracking"
)

// accessible is a backend that tells at once what calls do, as a state machine does: SET and DEL change a key, GET
// reads it, FLUSHALL takes all away. Calls on the key "slow" are answered when the test says so.
type accessible struct {
	fakeBackend
	table *tracking.Table
	slow  held
}

func (a *accessible) submit(c *Call) {
	for _, r := range c.Requests {
		a.access(c, r)
	}
	if len(c.Requests) == 1 && len(c.Requests[0].Args) > 1 && c.Requests[0].Args[1] == "slow" {
		a.slow.take(c)
		return
	}
	replies := make([]resp.Value, len(c.Requests))
	for i, r := range c.Requests {
		if r.Spec.Name != "blpop" {
			replies[i] = resp.OK()
		}
	}
	if c.Block {
		c.Done(Result{Reply: resp.Arr(replies...)})
		return
	}
	c.Done(Result{Reply: replies[0]})
}

func (a *accessible) access(c *Call, r *commands.Request) {
	kinds := map[string]commands.AccessKind{
		"get": commands.ReadKey, "set": commands.ChangedKey, "del": commands.ChangedKey, "flushall": commands.FlushedKeys,
	}
	kind, known := kinds[r.Spec.Name]
	if !known || (kind == commands.ReadKey && !c.Track) {
		return
	}
	if kind == commands.FlushedKeys {
		a.table.Accessed(c.Session, []commands.Access{{Kind: kind}})
		return
	}
	a.table.Accessed(c.Session, []commands.Access{{Kind: kind, Key: r.Args[1]}})
}

func startTracking(t *testing.T, limits Limits) (*accessible, *Server, string) {
	a := &accessible{table: tracking.New(tracking.DefaultLimit)}
	a.fakeBackend.submit = a.submit
	srv, addr := start(t, Config{Backend: a, Tracking: a.table, Limits: limits})
	return a, srv, addr
}

const invalidK = ">2 $10 invalidate *1 $1 k"

// TestWhatATrackingClientSees plays lines of two clients and says what the first has been sent in the end, besides +OK.
func TestWhatATrackingClientSees(t *testing.T) {
	tests := map[string]struct{ mine, others, want string }{
		"a change by another":            {"HELLO 3; CLIENT TRACKING ON; GET k", "SET k v", invalidK},
		"its own change":                 {"HELLO 3; CLIENT TRACKING ON; GET k; SET k v", "", invalidK},
		"no loop":                        {"HELLO 3; CLIENT TRACKING ON NOLOOP; GET k; SET k v", "SET k v", ""},
		"a flush":                        {"HELLO 3; CLIENT TRACKING ON", "FLUSHALL", ">2 $10 invalidate _"},
		"nothing read":                   {"HELLO 3; CLIENT TRACKING ON", "SET k v", ""},
		"nothing in RESP2":               {"CLIENT TRACKING ON; GET k", "SET k v", ""},
		"nothing once off":               {"HELLO 3; CLIENT TRACKING ON; GET k; CLIENT TRACKING OFF", "SET k v", ""},
		"nothing after RESET":            {"HELLO 3; CLIENT TRACKING ON; GET k; RESET; HELLO 3", "SET k v", ""},
		"nothing of what was read off":   {"HELLO 3; GET k; CLIENT TRACKING ON", "SET k v", ""},
		"replies off":                    {"HELLO 3; CLIENT TRACKING ON; GET k; CLIENT REPLY OFF", "SET k v", invalidK},
		"opt in":                         {"HELLO 3; CLIENT TRACKING ON OPTIN; CLIENT CACHING YES; GET k", "SET k v", invalidK},
		"opt in, not this one":           {"HELLO 3; CLIENT TRACKING ON OPTIN; GET k", "SET k v", ""},
		"opt in, the next only":          {"HELLO 3; CLIENT TRACKING ON OPTIN; CLIENT CACHING YES; PING; GET k", "SET k v", ""},
		"opt in, an unknown one between": {"HELLO 3; CLIENT TRACKING ON OPTIN; CLIENT CACHING YES; NOSUCH; GET k", "SET k v", ""},
		"opt in, a transaction":          {"HELLO 3; CLIENT TRACKING ON OPTIN; CLIENT CACHING YES; MULTI; GET x; GET k; EXEC", "SET k v", invalidK},
		"opt in, behind a transaction":   {"HELLO 3; CLIENT TRACKING ON OPTIN; CLIENT CACHING YES; MULTI; PING; EXEC; GET k", "SET k v", ""},
		"opt in, inside a transaction":   {"HELLO 3; CLIENT TRACKING ON OPTIN; MULTI; CLIENT CACHING YES; GET k; EXEC", "SET k v", invalidK},
		"opt in, a transaction given up": {"HELLO 3; CLIENT TRACKING ON OPTIN; MULTI; CLIENT CACHING YES; DISCARD; GET k", "SET k v", ""},
		"opt out":                        {"HELLO 3; CLIENT TRACKING ON OPTOUT; GET k", "SET k v", invalidK},
		"opt out, not this one":          {"HELLO 3; CLIENT TRACKING ON OPTOUT; CLIENT CACHING NO; GET k", "SET k v", ""},
		"opt out, the next only":         {"HELLO 3; CLIENT TRACKING ON OPTOUT; CLIENT CACHING NO; GET x; GET k", "SET k v", invalidK},
		"broadcast":                      {"HELLO 3; CLIENT TRACKING ON BCAST PREFIX k", "SET x v; SET k v", invalidK},
		"too many prefixes": {
			"HELLO 3; CLIENT TRACKING ON BCAST" + prefixes(mostPrefixes+1), "",
			"-ERR redfence: more than 128 prefixes; raise the limit or send less",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, _, addr := startTracking(t, Limits{})
			me, other := dial(t, addr), dial(t, addr)
			for line := range strings.SplitSeq(tt.mine, "; ") {
				me.send(line + "\r\n")
			}
			me.send("CLIENT REPLY ON\r\n")
			me.send("ECHO mine\r\n")
			mine := me.sent("mine")
			if tt.others != "" {
				for line := range strings.SplitSeq(tt.others, "; ") {
					require.Equal(t, "+OK", other.do(line))
				}
			}
			me.send("ECHO end\r\n")
			require.Equal(t, tt.want, strings.Join(append(mine, me.sent("end")...), " "))
		})
	}
}

func prefixes(n int) string {
	text := ""
	for i := range n {
		text += " PREFIX " + string(rune('A'+i%26)) + string(rune('a'+i/26))
	}
	return text
}

// sent returns what comes in front of a tracer, besides what every session sees.
func (c *client) sent(tracer string) []string {
	c.t.Helper()
	var rest []string
	for {
		reply := c.next()
		switch {
		case strings.HasSuffix(reply, " "+tracer):
			return rest
		case strings.HasPrefix(reply, ">"), strings.HasPrefix(reply, "-ERR redfence"):
			rest = append(rest, reply)
		}
	}
}

// TestAnInvalidationFollowsTheReplyOfTheRead: the read was executed, and its answer is on its way, when the key changes.
func TestAnInvalidationFollowsTheReplyOfTheRead(t *testing.T) {
	a, _, addr := startTracking(t, Limits{})
	me, other := dial(t, addr), dial(t, addr)
	me.do("HELLO 3")
	me.do("CLIENT TRACKING ON")
	me.send("GET slow\r\n")
	read := a.slow.await(t, 1)[0]
	other.send("DEL slow\r\n")
	changed := a.slow.await(t, 2)[1]
	changed.Done(Result{Reply: resp.Int(1)})
	require.Equal(t, ":1", other.next())
	read.Done(Result{Reply: resp.Str("old")})
	require.Equal(t, "$3 old", me.next())
	require.Equal(t, ">2 $10 invalidate *1 $4 slow", me.next())
}

// TestAnInvalidationDoesNotWaitForABlockedCommand: who waits for an element is told at once.
func TestAnInvalidationDoesNotWaitForABlockedCommand(t *testing.T) {
	_, _, addr := startTracking(t, Limits{})
	me, other := dial(t, addr), dial(t, addr)
	me.do("HELLO 3")
	me.do("CLIENT TRACKING ON")
	me.do("GET k")
	me.send("BLPOP list 0\r\n")
	require.Eventually(t, func() bool { return strings.Contains(other.do("CLIENT LIST"), "flags=bt ") }, patience, time.Millisecond)
	other.do("SET k v")
	require.Equal(t, invalidK, me.next())
}

func TestRedirection(t *testing.T) {
	const message = "*3 $7 message $20 __redis__:invalidate *1 $1 k"
	tests := map[string]struct {
		target []string // what the other connection sends first
		want   string
	}{
		"a subscriber of RESP2":          {[]string{"SUBSCRIBE __redis__:invalidate"}, message},
		"a subscriber of something else": {[]string{"SUBSCRIBE x"}, message},
		"RESP3":                          {[]string{"HELLO 3"}, invalidK},
		"RESP2, no subscriber":           {[]string{"PING"}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, _, addr := startTracking(t, Limits{})
			target, me, other := dial(t, addr), dial(t, addr), dial(t, addr)
			id := strings.TrimPrefix(target.do("CLIENT ID"), ":")
			for _, line := range tt.target {
				target.do(line)
			}
			require.Equal(t, "+OK", me.do("CLIENT TRACKING ON REDIRECT "+id))
			require.Equal(t, ":"+id, me.do("CLIENT GETREDIR"))
			me.do("GET k")
			other.do("SET k v")
			require.Equal(t, "+PONG", me.do("PING"))
			if tt.want == "" {
				require.Equal(t, "+PONG", target.do("PING"))
				return
			}
			require.Equal(t, tt.want, target.next())
		})
	}
}

func TestARedirectionThatIsBroken(t *testing.T) {
	_, srv, addr := startTracking(t, Limits{})
	target, me, other := dial(t, addr), dial(t, addr), dial(t, addr)
	id := strings.TrimPrefix(target.do("CLIENT ID"), ":")
	me.do("HELLO 3")
	me.do("CLIENT TRACKING ON REDIRECT " + id)
	me.do("GET k")
	require.Contains(t, me.do("CLIENT LIST"), "flags=t ")
	require.NoError(t, target.Close())
	require.Eventually(t, func() bool { return len(srv.all()) == 2 }, patience, time.Millisecond)
	other.do("SET k v")
	require.Equal(t, ">2 $21 tracking-redir-broken :"+id, me.next())
	require.Contains(t, me.do("CLIENT TRACKINGINFO"), "broken_redirect")
	require.Contains(t, me.do("CLIENT LIST"), "flags=tR ")
	me.do("CLIENT TRACKING ON")
	require.NotContains(t, me.do("CLIENT TRACKINGINFO"), "broken_redirect")
}

func TestASessionThatEndsIsForgotten(t *testing.T) {
	a, _, addr := startTracking(t, Limits{})
	me, other := dial(t, addr), dial(t, addr)
	me.do("CLIENT TRACKING ON")
	me.do("GET k")
	other.do("CLIENT TRACKING ON BCAST PREFIX a PREFIX b")
	require.Equal(t, tracking.Sizes{Sessions: 2, Keys: 1, Items: 1, Prefixes: 2}, a.table.Sizes())
	stats := other.do("INFO stats")
	for _, line := range []string{"tracking_total_keys:1", "tracking_total_items:1", "tracking_total_prefixes:2"} {
		require.Contains(t, stats, line)
	}
	require.Contains(t, other.do("INFO clients"), "tracking_clients:2")
	require.NoError(t, me.Close())
	require.NoError(t, other.Close())
	require.Eventually(t, func() bool { return a.table.Sizes() == tracking.Sizes{} }, patience, time.Millisecond)
}

// TestAClientThatDoesNotReadItsInvalidationsIsCut holds the bound on what waits for a slow reader.
func TestAClientThatDoesNotReadItsInvalidationsIsCut(t *testing.T) {
	a, srv, addr := startTracking(t, Limits{MaxOutput: 64 << 10, WriteTimeout: time.Minute})
	me := dial(t, addr)
	me.do("HELLO 3")
	me.do("CLIENT TRACKING ON BCAST")
	key := strings.Repeat("k", 1000)
	require.Eventually(t, func() bool {
		for range 1000 {
			a.table.Accessed(0, []commands.Access{{Kind: commands.ChangedKey, Key: key}})
		}
		return len(srv.all()) == 0
	}, patience, time.Millisecond)
	require.Equal(t, tracking.Sizes{}, a.table.Sizes())
}
