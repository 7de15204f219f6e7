package integration

import (
	"strings"
	"time"

	"github.com/redfence/redfence/integration/harness"
)

// lockClient is a client's way to take locks. It is used by one goroutine.
type lockClient interface {
	// acquire tries once and sets what the client was told.
	acquire(a *attempt)
	// renew begins the TTL anew.
	renew(a *attempt) answer
	// release gives the lock back.
	release(a *attempt) answer
	close()
}

// answer is what became of a request.
type answer uint8

const (
	unclear answer = iota // it may have been executed
	notDone               // it was not executed, and may be tried again
	yes
	no // executed, and the lock is not the client's
)

// The scripts of the clients beyond those of the behavioural suite: renewals, each 1 or 0.
const (
	compareAndExpire = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0`
	stayInLock       = `if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0`
)

// proxyClient takes its locks from a redfence process. The first word of a key says in which form: "plain:" is SET NX
// PX with FENCE afterwards, "fence:" is SET NX PX FENCE, "hash:" is the reentrant lock of Redisson's scripts.
type proxyClient struct {
	addr string
	h    *history
	wire *harness.Wire // nil when not connected
}

func (c *proxyClient) close() {
	if c.wire != nil {
		_ = c.wire.Close() // nothing is under way
		c.wire = nil
	}
}

// do sends a command, on a new connection if there is none. The answer is yes when there is a reply without error.
func (c *proxyClient) do(args ...string) (harness.Reply, answer) {
	if c.wire == nil {
		wire, err := harness.Open(c.addr)
		if err != nil {
			return harness.Reply{}, notDone
		}
		c.wire = wire
	}
	reply, err := c.wire.Do(args...)
	if err != nil {
		c.close()
		return reply, unclear
	}
	if !reply.IsError() {
		return reply, yes
	}
	c.h.sawError(reply.Text)
	switch {
	case strings.HasPrefix(reply.Text, "CLUSTERDOWN "), strings.HasPrefix(reply.Text, "TRYAGAIN "):
		return reply, notDone
	case strings.HasPrefix(reply.Text, "ERR UNKNOWN outcome: "):
		if more, err := c.wire.Receive(); err == nil {
			c.h.find("after an unknown outcome the connection was not closed, but answered %s", more)
		}
	default:
		c.h.find("%q was answered %s", args, reply)
	}
	c.close()
	return reply, unclear
}

func (c *proxyClient) acquire(a *attempt) {
	form, _, _ := strings.Cut(a.key, ":")
	args := []string{"SET", a.key, a.owner, "NX", "PX", milliseconds(a.ttl)}
	switch form {
	case "fence":
		args = append(args, "FENCE")
	case "hash":
		args = []string{"EVAL", enterLock, "1", a.key, milliseconds(a.ttl), a.owner}
	}
	a.asked = time.Now()
	reply, answer := c.do(args...)
	a.told, a.ends = time.Now(), a.asked.Add(validity(a.ttl))
	switch answer {
	case yes:
		a.outcome = c.read(form, a, reply)
	case notDone:
		a.outcome = wasUnserved
	default:
		a.outcome = wasUnknown
	}
	if a.outcome == wasGranted && a.token == 0 {
		c.askToken(a)
	}
}

// read understands the reply to an acquire.
func (c *proxyClient) read(form string, a *attempt, reply harness.Reply) outcome {
	n, isInt := reply.Int()
	switch {
	case form == "fence" && isInt && n > 0:
		a.token = n
		return wasGranted
	case form == "plain" && reply.Text == "OK", form == "hash" && reply.Null:
		return wasGranted
	case form != "hash" && reply.Null:
		return wasRefused
	case form == "hash" && isInt && n >= 0 && n <= max(a.ttl, loadLease).Milliseconds():
		return wasRefused
	}
	c.h.find("an acquire of %s was answered %s", a.key, reply)
	return wasUnknown
}

// askToken asks for the token of a lock that the client has. While it has it, it must get one, or an error.
func (c *proxyClient) askToken(a *attempt) {
	reply, answer := c.do("FENCE", a.key, a.owner)
	if answer != yes {
		return
	}
	if n, ok := reply.Int(); ok {
		a.token = n
	} else if a.claims(time.Now()) {
		c.h.find("%s has %s and was told that it has no token", a.owner, a.key)
	}
}

func (c *proxyClient) renew(a *attempt) answer {
	script := compareAndExpire
	if strings.HasPrefix(a.key, "hash:") {
		script = stayInLock
	}
	return c.oneOrNone(c.do("EVAL", script, "1", a.key, a.owner, milliseconds(a.ttl)))
}

func (c *proxyClient) release(a *attempt) answer {
	if strings.HasPrefix(a.key, "hash:") {
		return c.oneOrNone(c.do("EVAL", leaveLock, "2", a.key, "channel:"+a.key, a.owner))
	}
	return c.oneOrNone(c.do("EVAL", compareAndDelete, "1", a.key, a.owner))
}

// oneOrNone reads a reply that is 1 for success, and 0 or nil when the lock is not the client's.
func (c *proxyClient) oneOrNone(reply harness.Reply, got answer) answer {
	if got != yes {
		return got
	}
	switch n, isInt := reply.Int(); {
	case isInt && n == 1:
		return yes
	case reply.Null, isInt && n == 0:
		return no
	}
	c.h.find("a renewal or release was answered %s", reply)
	return unclear
}
