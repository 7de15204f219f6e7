package quorum

import (
	"strconv"
	"strings"

	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/fencing"
)

func isNil(v resp.Value) bool  { return v.IsNull() }
func isZero(v resp.Value) bool { return v.Kind == resp.Integer && v.Int() == 0 }
func isInt(v resp.Value) bool  { return v.Kind == resp.Integer }

// mutex is a lock by SET NX PX FENCE, compare-and-delete and compare-and-pexpire; several holds are of several keys.
func mutex(most int) trade {
	t := trade{acquire: takeMutex, release: freeMutex, renew: renewMutex, most: most}
	if most > 1 {
		t.renew = renewMutexes
	}
	return t
}

func takeMutex(c *client) {
	ttl, nonce := c.ttl(), c.nonce()
	key := c.key
	if c.do.most > 1 {
		key += strconv.Itoa(c.w.rng.IntN(3))
	}
	q := &call{kind: acquire, key: key, owner: nonce, denied: isNil}
	line := []string{"SET", key, nonce, "NX", "PX", ms(ttl)}
	fenced := c.w.rng.IntN(8) > 0
	if fenced {
		line = append(line, "FENCE")
	}
	c.submit(q, line, func(v resp.Value) {
		switch {
		case v.Kind == resp.Integer && fenced:
			c.got(c.newHold(q, ttl, fencing.Token(v.Int())))
		case v.Kind == resp.Simple && !fenced:
			c.got(c.newHold(q, ttl, 0))
		case !v.IsErr() && !v.IsNull():
			c.w.fail("%s: answered %s", q, show(v))
		}
	})
}

func freeMutex(c *client, h *hold) {
	was := *h
	was.leaving = false
	q := &call{kind: release, key: h.key, owner: h.owner, denied: isZero}
	c.submit(q, []string{"EVAL", scriptUnlock, "1", h.key, h.owner, c.nonce()}, func(v resp.Value) {
		c.left(q, h, v, was.valid(c.w.now))
	})
}

func renewMutex(c *client) {
	h, ttl := c.holds[0], c.ttl()
	h.renewing(c.w.now, ttl)
	q := &call{kind: renewal, key: h.key, owner: h.owner, denied: isZero}
	c.submit(q, []string{"EVAL", scriptExtend, "1", h.key, h.owner, ms(ttl), c.nonce()}, func(v resp.Value) {
		if !v.IsErr() {
			c.renewed(q, h, v.Int(), h.valid(c.w.now), ttl)
		}
	})
}

// renewMutexes renews all locks in one script, as Redisson's watchdog does.
func renewMutexes(c *client) {
	holds, ttl := append([]*hold(nil), c.holds...), c.w.ttls[len(c.w.ttls)-1]
	q := &call{kind: renewal, key: c.key, denied: func(resp.Value) bool { return false }}
	line := []string{"EVAL", scriptRenews, strconv.Itoa(len(holds))}
	for _, h := range holds {
		line = append(line, h.key)
	}
	line = append(line, ms(ttl))
	for _, h := range holds {
		line = append(line, h.owner)
		h.renewing(c.w.now, ttl)
	}
	c.submit(q, append(line, c.nonce()), func(v resp.Value) {
		if v.IsErr() {
			return
		}
		if v.Kind == resp.Bulk {
			v = wholeArray(v.Str)
		}
		if v.Kind != resp.Array || len(v.Elems) != len(holds) {
			c.w.fail("%s: answered %s", q, show(v))
			return
		}
		for i, h := range holds {
			c.renewed(q, h, v.Elems[i].Int(), h.valid(c.w.now), ttl)
		}
	})
}

// wholeArray is what show made of an array, see bugWholeArrays.
func wholeArray(text string) resp.Value {
	var all []resp.Value
	for word := range strings.FieldsSeq(strings.Trim(text, "[]")) {
		n, _ := strconv.ParseInt(word, 10, 64)
		all = append(all, resp.Int(n))
	}
	return resp.Arr(all...)
}

// semaphore is a counter of free permits without TTL.
func semaphore() trade { return trade{acquire: takePermit, release: givePermit, most: 2} }

func takePermit(c *client) {
	q := &call{kind: acquire, key: c.key, denied: isZero}
	c.submit(q, []string{"EVAL", scriptTake, "1", c.key, c.nonce()}, func(v resp.Value) {
		if v.Kind == resp.Integer && v.Int() == 1 {
			c.got(&hold{key: c.key, owner: c.name})
		}
	})
}

func givePermit(c *client, h *hold) {
	q := &call{kind: acquire, key: c.key, denied: func(resp.Value) bool { return false }}
	c.submit(q, []string{"EVAL", scriptGive, "1", c.key, c.nonce()}, func(v resp.Value) {
		c.left(q, h, v, false)
	})
}

// shared is a read/write lock: a hash with a field for each holder.
func shared() trade { return trade{acquire: takeShared, release: leaveShared, most: 1} }

func takeShared(c *client) {
	ttl, text, owner := c.ttl(), scriptRead, "r"+c.nonce()
	if c.w.rng.IntN(3) == 0 {
		text, owner = scriptWrite, "w"+c.nonce()
	}
	q := &call{kind: acquire, key: c.key, owner: owner, denied: isInt}
	c.submit(q, []string{"EVAL", text, "1", c.key, owner, ms(ttl), c.nonce()}, func(v resp.Value) {
		if v.IsNull() {
			h := c.newHold(q, ttl, 0)
			h.shared = strings.HasPrefix(owner, "r")
			c.got(h)
		}
	})
}

func leaveShared(c *client, h *hold) {
	was := *h
	was.leaving = false
	q := &call{kind: release, key: h.key, owner: h.owner, denied: isZero}
	c.submit(q, []string{"EVAL", scriptLeave, "1", h.key, h.owner, c.nonce()}, func(v resp.Value) {
		c.left(q, h, v, was.valid(c.w.now))
	})
}
