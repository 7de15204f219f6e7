package proxy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

// answerBlock answers a call as a store would: WATCH that no key is there, and requests with their last argument.
func answerBlock(c *Call) {
	if !c.Block && c.Requests[0].Spec.Name == "watch" {
		c.Done(Result{Reply: commands.WatchReply(7, make([]bool, len(c.Requests[0].Keys())))})
		return
	}
	if !c.Block {
		echoBack(c)
		return
	}
	replies := make([]resp.Value, len(c.Requests))
	for i, r := range c.Requests {
		replies[i] = resp.Str(fmt.Sprintf("%s@%d", r.Args[len(r.Args)-1], r.DB))
	}
	c.Done(Result{Reply: resp.Arr(replies...)})
}

// witness answers and remembers what it was asked.
type witness struct{ held }

func (r *witness) submit(c *Call) {
	r.take(c)
	answerBlock(c)
}

func TestABlockIsOneCall(t *testing.T) {
	tests := map[string]struct {
		lines, replies string // separated by |
		calls          int    // that the backend got
	}{
		"only the backend's":  {"MULTI|SET a 1|GET b|EXEC", "+OK|+QUEUED|+QUEUED|*2 $3 1@0 $3 b@0", 1},
		"nothing":             {"MULTI|EXEC", "+OK|*0", 0},
		"only the front's":    {"MULTI|PING|ECHO x|EXEC", "+OK|+QUEUED|+QUEUED|*2 +PONG $1 x", 0},
		"mixed":               {"MULTI|PING|GET a|ECHO x|GET b|EXEC", "+OK|+QUEUED|+QUEUED|+QUEUED|+QUEUED|*4 +PONG $3 a@0 $1 x $3 b@0", 1},
		"SELECT inside":       {"MULTI|GET a|SELECT 3|GET b|EXEC|MULTI|GET c|EXEC", "+OK|+QUEUED|+QUEUED|+QUEUED|*3 $3 a@0 +OK $3 b@3|+OK|+QUEUED|*1 $3 c@3", 2},
		"SELECT discarded":    {"MULTI|SELECT 3|DISCARD|MULTI|GET c|EXEC", "+OK|+QUEUED|+OK|+OK|+QUEUED|*1 $3 c@0", 1},
		"wrong options":       {"MULTI|SET a 1 NX XX|GET b|EXEC", "+OK|+QUEUED|+QUEUED|*2 -ERR syntax error $3 b@0", 1},
		"wrong arity":         {"MULTI|SET a|GET b|EXEC", "+OK|-ERR wrong number of arguments for 'set' command|+QUEUED|-EXECABORT Transaction discarded because of previous errors.", 0},
		"unknown command":     {"MULTI|NOSUCH|EXEC|EXEC", "+OK|-ERR unknown command 'NOSUCH', with args beginning with: |-EXECABORT Transaction discarded because of previous errors.|-ERR EXEC without MULTI", 0},
		"RESET":               {"MULTI|GET a|RESET|EXEC", "+OK|+QUEUED|+RESET|-ERR EXEC without MULTI", 0},
		"DISCARD":             {"MULTI|GET a|DISCARD|DISCARD", "+OK|+QUEUED|+OK|-ERR DISCARD without MULTI", 0},
		"nested":              {"MULTI|MULTI|WATCH a|EXEC", "+OK|-ERR MULTI calls can not be nested|-ERR WATCH inside MULTI is not allowed|*0", 0},
		"watching":            {"WATCH a b|MULTI|EXEC", "+OK|+OK|*0", 2},
		"watching no more":    {"WATCH a|UNWATCH|MULTI|EXEC", "+OK|+OK|+OK|*0", 1},
		"watching, discarded": {"WATCH a|MULTI|DISCARD|MULTI|EXEC", "+OK|+OK|+OK|+OK|*0", 1},
		"subscribing": {
			"MULTI|SUBSCRIBE c|PING|EXEC|PING",
			"+OK|+QUEUED|+QUEUED|*2 *3 $9 subscribe $1 c :1 *2 $4 pong $0 |*2 $4 pong $0 ", 0,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for _, pipelined := range []bool{false, true} {
				var r witness
				_, addr := start(t, Config{Backend: &fakeBackend{submit: r.submit}})
				c := dial(t, addr)
				lines, want := strings.Split(tt.lines, "|"), strings.Split(tt.replies, "|")
				if pipelined {
					c.send(strings.Join(lines, "\r\n") + "\r\n")
				}
				for i, line := range lines {
					if !pipelined {
						c.send(line + "\r\n")
					}
					require.Equal(t, want[i], c.next(), "%s of %s", line, tt.lines)
				}
				require.Len(t, r.all(), tt.calls)
			}
		})
	}
}

// A command with several replies counts as one element, and clients find the rest behind the array.
func TestSurplusRepliesFollowTheArray(t *testing.T) {
	_, addr := start(t, Config{})
	c := dial(t, addr)
	c.send("MULTI\r\nSUBSCRIBE a b\r\nPING\r\nEXEC\r\n")
	for _, want := range []string{
		"+OK", "+QUEUED", "+QUEUED", "*2 *3 $9 subscribe $1 a :1 *3 $9 subscribe $1 b :2", "*2 $4 pong $0 ",
	} {
		require.Equal(t, want, c.next())
	}
}

// What WATCH learned goes along with EXEC, however late it was answered.
func TestExecCarriesWhatWatchLearned(t *testing.T) {
	for name, line := range map[string]string{"backend only": "SET a 1", "with a local command": "SELECT 2"} {
		t.Run(name, func(t *testing.T) {
			var h held
			_, addr := start(t, Config{Backend: &fakeBackend{submit: h.take}})
			c := dial(t, addr)
			c.send("SELECT 1\r\nWATCH a b\r\nWATCH c\r\nMULTI\r\n" + line + "\r\nEXEC\r\nPING\r\n")
			calls := h.await(t, 2)
			require.Equal(t, "+OK", c.next())
			calls[1].Done(Result{Reply: commands.WatchReply(9, []bool{true})})
			calls[0].Done(Result{Reply: commands.WatchReply(8, []bool{false, true})})
			block := h.await(t, 3)[2]
			require.True(t, block.Block)
			require.Equal(t, []commands.Watch{
				{DB: 1, Key: "a", Since: 8}, {DB: 1, Key: "b", Since: 8, Present: true}, {DB: 1, Key: "c", Since: 9, Present: true},
			}, block.Watched)
			block.Done(Result{Reply: resp.Value{Kind: resp.NullArray}})
			for _, want := range []string{"+OK", "+OK", "+OK", "+QUEUED", "*-1", "+PONG"} {
				require.Equal(t, want, c.next())
			}
			c.send("GET x\r\n")
			require.Equal(t, 1, h.await(t, 4)[3].Requests[0].DB, "an aborted block must not select another database")
		})
	}
}

// A client that pipelined EXEC behind a WATCH that failed must not run what it wanted guarded.
func TestAFailedWatchFailsItsExec(t *testing.T) {
	_, addr := start(t, Config{Backend: &fakeBackend{submit: func(c *Call) {
		c.Done(Result{Reply: resp.ErrTryAgainBusy.Value()})
	}}})
	c := dial(t, addr)
	c.send("WATCH a\r\nMULTI\r\nSET a 1\r\nEXEC\r\nMULTI\r\nEXEC\r\n")
	for _, want := range []string{
		"-" + string(resp.ErrTryAgainBusy), "+OK", "+QUEUED", "-" + string(resp.ExecAbort(string(resp.ErrTryAgainBusy))), "+OK", "*0",
	} {
		require.Equal(t, want, c.next())
	}
}

// The error of a block is the reply of EXEC, and nothing of the front end runs then.
func TestABlockThatFails(t *testing.T) {
	for name, line := range map[string]string{"backend only": "GET a", "mixed": "GET a\r\nSUBSCRIBE c"} {
		t.Run(name, func(t *testing.T) {
			var h held
			_, addr := start(t, Config{Backend: &fakeBackend{submit: h.take}})
			c := dial(t, addr)
			c.send("MULTI\r\n" + line + "\r\nEXEC\r\n")
			h.await(t, 1)[0].Done(Result{Reply: resp.ErrUnknownOutcome.Value(), Close: true})
			text := c.rest()
			require.True(t, strings.HasSuffix(text, "-"+string(resp.ErrUnknownOutcome)+"\r\n"), text)
			require.NotContains(t, text, "subscribe")
		})
	}
}

// The reader waits for a mixed block. Neither a client that goes away nor a shutdown may be held up by that.
func TestASessionEndsWhileItsBlockRuns(t *testing.T) {
	var h held
	srv, addr := start(t, Config{Backend: &fakeBackend{submit: h.take}})
	c := dial(t, addr)
	c.send("MULTI\r\nGET a\r\nPING\r\nEXEC\r\n")
	h.await(t, 1)
	require.Equal(t, "+PONG", dial(t, addr).do("PING"))
	for _, ses := range srv.all() {
		ses.kill()
	}
	require.Eventually(t, func() bool { return len(srv.all()) == 0 }, patience, time.Millisecond)
	answerBlock(h.all()[0]) // too late, and harmless
}

func TestBoundsOfATransaction(t *testing.T) {
	limits := Limits{MaxBulk: 64 << 10, MaxPipeline: 4}
	tests := map[string]struct {
		line, refusal, end string
		most               int
	}{
		"commands": {"GET a", "-ERR redfence: more than 64 commands in a transaction; raise the limit or send less", "-EXECABORT", 64},
		"bytes": {
			"GET " + strings.Repeat("x", 8000),
			"-ERR redfence: more than 65536 bytes in a transaction; raise the limit or send less", "-EXECABORT", 7,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, addr := start(t, Config{Limits: limits})
			c := dial(t, addr)
			require.Equal(t, "+OK", c.do("MULTI"))
			for range tt.most {
				require.Equal(t, "+QUEUED", c.do(tt.line))
			}
			require.Equal(t, tt.refusal, c.do(tt.line))
			require.Equal(t, "+QUEUED", c.do(tt.line)) // as Redis does once a transaction is lost
			require.Contains(t, c.do("EXEC"), tt.end)
			require.Equal(t, "+OK", c.do("MULTI"))
			require.Equal(t, "*0", c.do("EXEC"))
		})
	}
	t.Run("watched keys", func(t *testing.T) {
		_, addr := start(t, Config{Limits: limits, Backend: &fakeBackend{submit: answerBlock}})
		c := dial(t, addr)
		line := "WATCH " + strings.Repeat("x", 8000)
		for range 7 {
			require.Equal(t, "+OK", c.do(line))
		}
		require.Equal(t, "-ERR redfence: more than 65536 bytes of watched keys; raise the limit or send less", c.do(line))
		require.Equal(t, "+OK", c.do("MULTI"))
		require.Contains(t, c.do("EXEC"), "-EXECABORT Transaction discarded because of: redfence: more than")
		require.Equal(t, "+OK", c.do(line))
	})
}

func TestClientListTellsOfATransaction(t *testing.T) {
	_, addr := start(t, Config{})
	c, other := dial(t, addr), dial(t, addr)
	shown := func(want string) {
		t.Helper()
		require.Contains(t, other.do("CLIENT LIST"), want)
	}
	require.Equal(t, "+OK", c.do("MULTI"))
	shown("flags=x db=0 sub=0 psub=0 ssub=0 multi=0 ")
	require.Equal(t, "+QUEUED", c.do("PING"))
	shown(" multi=1 ")
	require.Equal(t, "+OK", c.do("DISCARD"))
	require.NotContains(t, other.do("CLIENT LIST"), "flags=x")
}

func TestBlockCommandsAreRefusedBeforeAuth(t *testing.T) {
	_, addr := start(t, Config{Password: "secret"})
	c := dial(t, addr)
	require.Equal(t, "-NOAUTH Authentication required.", c.do("MULTI"))
	require.Equal(t, "-EXECABORT Transaction discarded because of: NOAUTH Authentication required.", c.do("EXEC"))
	require.Equal(t, "-EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command", c.do("EXEC x"))
}
