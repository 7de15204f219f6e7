package quorum

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/fencing"
)

// kind is what a client wants of a call.
type kind uint8

const (
	acquire kind = iota
	release
	renewal
)

// call is one request of a client.
type call struct {
	kind     kind
	key      string
	owner    string // of the hold it is about; empty for semaphores
	text     string
	p        *simProxy
	at       time.Duration
	ended    time.Duration
	denied   func(resp.Value) bool
	replies  int
	trials   []*trial
	answered [5]bool // by node
}

func (c *call) String() string { return c.text }

// client is a program that takes one kind of lock through a proxy, again and again.
type client struct {
	w      *world
	name   string
	p      *simProxy
	stream simStream
	do     trade
	key    string
	holds  []*hold
	next   time.Duration // when it does something again
	busy   *call
	todo   int
	nonces int
	tries  int // at the present release
}

// trade is how a kind of lock is used.
type trade struct {
	acquire func(c *client) // asks for it
	release func(c *client, h *hold)
	renew   func(c *client)
	most    int // holds at once
}

// act does the client's next step.
func (c *client) act() {
	rng := c.w.rng
	switch {
	case len(c.holds) > 0 && c.holds[0].leaving:
		c.do.release(c, c.holds[0]) // again
	case c.todo > 0 && len(c.holds) < c.do.most && (len(c.holds) == 0 || rng.IntN(2) == 0):
		c.todo--
		c.do.acquire(c)
	case len(c.holds) > 0 && c.do.renew != nil && c.todo > 0 && rng.IntN(2) == 0:
		c.todo--
		c.do.renew(c)
	case len(c.holds) > 0:
		c.tries = 0
		c.holds[0].leaving = true
		c.do.release(c, c.holds[0])
	}
}

// idle tells whether there is nothing left to do.
func (c *client) idle() bool { return c.busy == nil && c.todo == 0 && len(c.holds) == 0 }

func (c *client) nonce() string {
	c.nonces++
	return c.name + "." + strconv.Itoa(c.nonces)
}

// later makes the client wait for up to d.
func (c *client) later(d time.Duration) { c.next = c.w.now + time.Duration(c.w.rng.Int64N(int64(d))+1) }

func (c *client) drop(h *hold) {
	for i := range c.holds {
		if c.holds[i] == h {
			c.holds = append(c.holds[:i:i], c.holds[i+1:]...)
			return
		}
	}
}

// submit sends a request. Its last word, or the value that it sets, is its nonce.
func (c *client) submit(q *call, line []string, then func(resp.Value)) {
	r, err := commands.Bind(line, 0)
	if err != nil {
		panic(err)
	}
	q.p, q.at, q.text = c.p, c.w.now, c.name+": "+readable(line)
	c.w.book.calls[nonceOf(r)] = q
	c.busy = q
	c.w.logf("%s", q)
	c.stream.Submit(&commands.Call{Requests: []*commands.Request{r}, Session: 1, Done: func(res commands.Result) {
		c.w.logf("%s = %s", q, show(res.Reply))
		if c.busy != q {
			c.w.fail("%s is answered when nobody waits for it", q)
			return
		}
		c.w.book.reply(q, res.Reply, res.Close)
		c.busy = nil
		c.later(5 * time.Millisecond)
		if res.Close {
			c.stream.Close()
			c.stream = c.p.engine.Open()
		}
		then(res.Reply)
	}})
}

// moved is the end of the client's proxy: its connection is lost and it goes on with another.
func (c *client) moved(p *simProxy) {
	c.p, c.stream = p, p.engine.Open()
	if c.busy == nil {
		return
	}
	c.busy = nil
	if len(c.holds) > 0 && c.holds[0].leaving {
		c.holds[0].unclear = true
		c.drop(c.holds[0]) // perhaps it was released; the time of the lock ends it otherwise
	}
	c.later(20 * time.Millisecond)
}

// got is a grant.
func (c *client) got(h *hold) {
	c.holds = append(c.holds, h)
	c.w.book.granted(h)
	c.later(c.w.patience)
}

// left is the answer to a release.
func (c *client) left(q *call, h *hold, v resp.Value, valid bool) {
	c.tries++
	switch {
	case v.IsErr() && !strings.HasPrefix(v.Str, "ERR UNKNOWN") && c.tries < 10:
		c.later(30 * time.Millisecond)
		return
	case v.IsErr():
		h.unclear = true
	case v.Int() == 0 && valid && c.tries == 1 && c.w.forgotten:
		c.w.book.stranded = true // see book
		c.w.logf("DENIED %v", h)
	case v.Int() == 0 && valid && c.tries == 1:
		c.w.fail("%s: denied to its valid holder %v", q, h)
	default:
		h.released = true
	}
	c.drop(h)
}

// renewing is the time from which on the holder can no longer be sure of its hold, if the renewal shortens it.
func (h *hold) renewing(now, ttl time.Duration) { h.until = min(h.until, now+ttl-simSlack) }

// renewed is the answer to a renewal of some holds.
func (c *client) renewed(q *call, h *hold, n int64, valid bool, ttl time.Duration) {
	if n == 1 {
		h.until = q.at + ttl - simSlack
		return
	}
	if valid && h.valid(c.w.now) && !c.w.forgotten {
		c.w.fail("%s: denied to its valid holder %v", q, h)
	}
	h.leaving = true
	c.drop(h)
}

func ms(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

func (c *client) ttl() time.Duration { return c.w.ttls[c.w.rng.IntN(len(c.w.ttls))] }

// newHold is what a call will have granted.
func (c *client) newHold(q *call, ttl time.Duration, token fencing.Token) *hold {
	return &hold{key: q.key, owner: q.owner, until: q.at + ttl - simSlack, token: token}
}

func readable(line []string) string {
	s := fmt.Sprint(line)
	for text, name := range map[string]string{
		scriptUnlock: "unlock", scriptExtend: "extend", scriptTake: "take", scriptGive: "give", scriptRead: "read",
		scriptWrite: "write", scriptLeave: "leave", scriptRenews: "renew-all",
	} {
		s = strings.Replace(s, text, name, 1)
	}
	return s
}
