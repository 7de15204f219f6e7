package integration

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
)

// crashSlack is for what lies between a time read by a worker and the moment
// that the server used, on a busy machine.
const crashSlack = 20 * time.Millisecond

// audit compares what a server has after a crash with what its clients were
// told. Tokens are remembered over all rounds.
type audit struct {
	t        *testing.T
	owners   map[int64]string // token to owner
	topToken int64            // the largest of the rounds before
	findings []string
}

func (a *audit) complain(format string, args ...any) {
	a.findings = append(a.findings, fmt.Sprintf(format, args...))
}

// found is what the restarted server says about one key.
type found struct {
	owner string
	token int64
	left  time.Duration
	asked time.Time // when the question was sent
	known time.Time // when the answer was there
}

// afterCrash checks one round and leaves the server without locks.
func (a *audit) afterCrash(s *harness.Server, holds []*hold, lastWrite time.Time) {
	a.t.Helper()
	c := harness.Dial(a.t, s.Addr)
	keys := map[string]found{}
	for i := range crashKeys {
		key := "lock:" + strconv.Itoa(i)
		if f, held := a.look(c, key, i%2 == 0); held {
			keys[key] = f
		}
	}
	a.compare(holds, keys, lastWrite)
	a.endAll(c, holds, keys)
	for _, finding := range a.findings {
		a.t.Error(finding)
	}
	a.findings = nil
}

// compare is the audit proper: what the workers know against what the server says.
func (a *audit) compare(holds []*hold, keys map[string]found, lastWrite time.Time) {
	present := 0
	for _, h := range holds {
		f, held := keys[h.key]
		mine := held && f.owner == h.owner
		if mine {
			present++
			a.checkLease(h, f, lastWrite)
		}
		a.checkPresence(h, mine)
	}
	if present != len(keys) {
		a.complain("%d keys are held, but only %d by owners that asked for them", len(keys), present)
	}
	a.checkTokens(holds)
}

// look reads one lock key: its owner, token and remaining lease.
func (a *audit) look(c *harness.Conn, key string, hash bool) (found, bool) {
	a.t.Helper()
	f := found{asked: time.Now()}
	const state = `local owner
if ARGV[1] == 'hash' then owner = redis.call('HKEYS', KEYS[1])[1] else owner = redis.call('GET', KEYS[1]) end
return {owner or false, redis.call('FENCE', KEYS[1]) or 0, redis.call('PTTL', KEYS[1])}`
	kind := "string"
	if hash {
		kind = "hash"
	}
	reply := c.Do("EVAL", state, "1", key, kind)
	f.known = time.Now()
	if len(reply.Elems) != 3 {
		a.t.Fatalf("state of %s: %s", key, reply)
	}
	f.owner = reply.Elems[0].Text
	f.token, _ = reply.Elems[1].Int()
	left, _ := reply.Elems[2].Int()
	f.left = time.Duration(left) * time.Millisecond
	return f, !reply.Elems[0].Null
}

// checkPresence compares an attempt's outcome, as its client knows it, with
// whether the lock is its own now.
func (a *audit) checkPresence(h *hold, mine bool) {
	leaseOver := time.Since(h.askedAt) >= h.ttl
	switch {
	case h.odd != "":
		a.complain("%s of %s (release asked: %v) was answered %s", h.key, h.owner, h.releaseAsked, h.odd)
	case h.granted && !h.releaseAsked && !leaseOver && !mine:
		a.complain("%s was granted to %s %v ago for %v and is lost", h.key, h.owner, time.Since(h.ackedAt), h.ttl)
	case h.released && mine:
		a.complain("%s was released by %s and is held by it again", h.key, h.owner)
	case !h.ackedAt.IsZero() && !h.granted && mine:
		a.complain("%s was refused to %s and is held by it", h.key, h.owner)
	}
}

// checkLease bounds what may be left of a lease. Store time never runs faster
// than real time, so at least ttl less the time since it was asked for is left;
// it stood still only from the last write on, so at most ttl less the time
// between the grant and that write is left.
func (a *audit) checkLease(h *hold, f found, lastWrite time.Time) {
	least := h.ttl - f.known.Sub(h.askedAt) - crashSlack
	most := h.ttl
	if h.granted && lastWrite.After(h.ackedAt) {
		most = h.ttl - lastWrite.Sub(h.ackedAt) + crashSlack
	}
	if f.left < least || f.left > most || f.left <= 0 {
		a.complain("%s of %s has %v left, want %v to %v of %v", h.key, h.owner, f.left, least, most, h.ttl)
	}
	if h.granted && f.token != h.token {
		a.complain("%s of %s has token %d, it was granted with %d", h.key, h.owner, f.token, h.token)
	}
}

// checkTokens wants each token once, all above those of earlier rounds, and a
// grant that was asked for after another was acknowledged to have the larger one.
func (a *audit) checkTokens(holds []*hold) {
	var granted []*hold
	for _, h := range holds {
		if !h.granted {
			continue
		}
		granted = append(granted, h)
		if other, used := a.owners[h.token]; used {
			a.complain("token %d was given to %s and to %s", h.token, other, h.owner)
		}
		a.owners[h.token] = h.owner
		if h.token <= a.topToken {
			a.complain("token %d of %s after %d in an earlier round", h.token, h.owner, a.topToken)
		}
	}
	a.checkTokenOrder(granted)
	for _, h := range granted {
		a.topToken = max(a.topToken, h.token)
	}
}

// checkTokenOrder sweeps over the grants in the order in which they were asked
// for, with the largest token that was acknowledged before.
func (a *audit) checkTokenOrder(granted []*hold) {
	byAsk, byAck := slices.Clone(granted), granted
	slices.SortFunc(byAsk, func(x, y *hold) int { return x.askedAt.Compare(y.askedAt) })
	slices.SortFunc(byAck, func(x, y *hold) int { return x.ackedAt.Compare(y.ackedAt) })
	largest, next := int64(0), 0
	for _, h := range byAsk {
		for next < len(byAck) && byAck[next].ackedAt.Before(h.askedAt) {
			largest = max(largest, byAck[next].token)
			next++
		}
		if h.token <= largest {
			a.complain("token %d of %s was asked for after %d was acknowledged", h.token, h.owner, largest)
		}
	}
}

// endAll waits for the short leases, gives back the others, and wants nothing
// to be left.
func (a *audit) endAll(c *harness.Conn, holds []*hold, keys map[string]found) {
	a.t.Helper()
	for _, h := range holds {
		f, held := keys[h.key]
		if !held || f.owner != h.owner {
			continue
		}
		if h.ttl == shortLease {
			pollUntilGone(a.t, c, h.key)
			wantSoon(a.t, "present", time.Since(f.asked)-h.ttl)
			continue
		}
		c.Want("(integer) 1", "DEL", h.key)
	}
	if n := c.Int("DBSIZE"); n != 0 {
		a.complain("%d keys are left", n)
	}
}

// TestAuditFindsWhatIsWrong plants one fault at a time.
func TestAuditFindsWhatIsWrong(t *testing.T) {
	start := time.Now()
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	granted := func(token int64) *hold {
		return &hold{key: "k", owner: "me", ttl: time.Minute, askedAt: at(0), ackedAt: at(1), granted: true, token: token}
	}
	state := func(owner string, token int64, left time.Duration) map[string]found {
		return map[string]found{"k": {owner: owner, token: token, left: left, asked: at(100), known: at(101)}}
	}
	with := func(h *hold, change func(*hold)) *hold { change(h); return h }
	tests := map[string]struct {
		holds  []*hold
		keys   map[string]found
		faults int
	}{
		"held as told":      {[]*hold{granted(5)}, state("me", 5, 59950*time.Millisecond), 0},
		"lost":              {[]*hold{granted(5)}, nil, 1},
		"another's":         {[]*hold{granted(5)}, state("other", 5, 59950*time.Millisecond), 2},
		"too short":         {[]*hold{granted(5)}, state("me", 5, 59*time.Second), 1},
		"too long":          {[]*hold{granted(5)}, state("me", 5, 61*time.Second), 1},
		"lease began again": {[]*hold{granted(5)}, state("me", 5, time.Minute), 1},
		"never ends":        {[]*hold{granted(5)}, state("me", 5, -time.Millisecond), 1},
		"another token":     {[]*hold{granted(5)}, state("me", 6, 59950*time.Millisecond), 1},
		"released":          {[]*hold{with(granted(5), func(h *hold) { h.releaseAsked, h.released = true, true })}, nil, 0},
		"released and back": {
			[]*hold{with(granted(5), func(h *hold) { h.releaseAsked, h.released = true, true })},
			state("me", 5, 59950*time.Millisecond), 1,
		},
		"perhaps released": {
			[]*hold{with(granted(5), func(h *hold) { h.releaseAsked = true })},
			state("me", 5, 59950*time.Millisecond), 0,
		},
		"perhaps granted": {
			[]*hold{{key: "k", owner: "me", ttl: time.Minute, askedAt: at(0)}},
			state("me", 5, 59950*time.Millisecond), 0,
		},
		"refused and held": {
			[]*hold{{key: "k", owner: "me", ttl: time.Minute, askedAt: at(0), ackedAt: at(1)}},
			state("me", 5, 59950*time.Millisecond), 1,
		},
		"odd answer":             {[]*hold{with(granted(5), func(h *hold) { h.releaseAsked, h.odd = true, "(integer) 0" })}, nil, 1},
		"token used before":      {[]*hold{with(granted(2), func(h *hold) { h.releaseAsked = true })}, nil, 2},
		"token of earlier round": {[]*hold{with(granted(1), func(h *hold) { h.releaseAsked = true })}, nil, 1},
		"tokens fall": {[]*hold{
			with(granted(9), func(h *hold) { h.releaseAsked = true }),
			with(granted(8), func(h *hold) { h.releaseAsked, h.askedAt, h.ackedAt = true, at(2), at(3) }),
		}, nil, 1},
		"tokens rise": {[]*hold{
			with(granted(8), func(h *hold) { h.releaseAsked = true }),
			with(granted(9), func(h *hold) { h.releaseAsked, h.askedAt, h.ackedAt = true, at(2), at(3) }),
		}, nil, 0},
		"tokens of the same moment": {[]*hold{
			with(granted(9), func(h *hold) { h.releaseAsked = true }),
			with(granted(8), func(h *hold) { h.releaseAsked = true }),
		}, nil, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			a := &audit{t: t, owners: map[int64]string{2: "somebody"}, topToken: 2}
			a.compare(tc.holds, tc.keys, at(60))
			if len(a.findings) != tc.faults {
				t.Fatalf("found %d faults, want %d: %q", len(a.findings), tc.faults, a.findings)
			}
		})
	}
}
