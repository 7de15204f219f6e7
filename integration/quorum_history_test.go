package integration

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// outcome is what the client of an attempt was told.
type outcome uint8

const (
	wasUnknown  outcome = iota // it may have the lock: an error that says so, or a connection that broke
	wasGranted                 // it has the lock
	wasRefused                 // somebody else has it
	wasUnserved                // an error that says that nothing was executed
)

// attempt is one try for a lock, by an owner whose name is used only once, and what the client was told.
type attempt struct {
	key, owner  string
	ttl         time.Duration
	asked, told time.Time
	outcome     outcome
	token       int64 // 0 when the client did not ask for one

	ends         time.Time // by its own clock the client holds the lock until then, or until it asks for the release
	renewAsked   time.Time // when the last renewal was sent that may have been executed
	releaseAsked time.Time
	releaseTold  time.Time // when the release was confirmed
}

// validity is Redlock's, without the time that has passed: a clock may be 1 % fast, and a node's expiry 2 ms early
// (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/).
func validity(ttl time.Duration) time.Duration { return ttl - ttl/100 - 2*time.Millisecond }

// claims tells whether the client may act on the lock at an instant.
func (a *attempt) claims(at time.Time) bool {
	return a.outcome == wasGranted && at.Before(a.claimEnd()) && !at.Before(a.told)
}

func (a *attempt) claimEnd() time.Time {
	if !a.releaseAsked.IsZero() && a.releaseAsked.Before(a.ends) {
		return a.releaseAsked
	}
	return a.ends
}

// traceSlack is how long something of an attempt may be left on a node that missed its end: what a node has missed is
// made good after half a second. It stands in nobody's way unless another node is away.
const traceSlack = time.Second

// traceEnd is when the nodes surely have nothing more of the attempt.
func (a *attempt) traceEnd() time.Time {
	last := a.told
	if a.renewAsked.After(last) {
		last = a.renewAsked
	}
	switch {
	case !a.releaseTold.IsZero():
		return a.releaseTold.Add(traceSlack)
	case a.outcome == wasRefused, a.outcome == wasUnserved:
		return a.told.Add(traceSlack)
	default:
		return last.Add(a.ttl + traceSlack)
	}
}

// history is what all clients have tried. It is safe for concurrent use; attempts are judged when no client runs any more.
type history struct {
	mu       sync.Mutex
	attempts []*attempt
	findings []string
	counters map[string]*counter
	errors   map[string]int // texts of errors that clients may see
}

func newHistory() *history {
	return &history{counters: map[string]*counter{}, errors: map[string]int{}}
}

// record keeps an attempt; it is called when the outcome is known.
func (h *history) record(a *attempt) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.attempts = append(h.attempts, a)
}

// find notes what must not be.
func (h *history) find(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.findings = append(h.findings, fmt.Sprintf(format, args...))
}

func (h *history) count(o outcome) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range h.attempts {
		if a.outcome == o {
			n++
		}
	}
	return n
}

// sawError counts an error by its text up to the first bracket.
func (h *history) sawError(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	text, _, _ = strings.Cut(text, " (")
	h.errors[text]++
}

// counter is what the lock of its key guards: a number, and a register that takes no stale token.
type counter struct {
	value  int
	token  int64
	writer string
}

// read is what a holder sees.
func (h *history) read(key string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.counter(key).value
}

func (h *history) counter(key string) *counter {
	c := h.counters[key]
	if c == nil {
		c = &counter{}
		h.counters[key] = c
	}
	return c
}

// write puts one more than was read, if the client still holds the lock by its own clock, which is looked at under the
// same lock as the value. Nobody else may have written since.
func (h *history) write(a *attempt, read int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.counter(a.key)
	if !a.claims(time.Now()) {
		return
	}
	if c.value != read {
		h.findings = append(h.findings, fmt.Sprintf("%s: %s read %d and found %d by %s when it wrote", a.key, a.owner, read, c.value, c.writer))
	}
	if a.token != 0 && a.token <= c.token {
		h.findings = append(h.findings, fmt.Sprintf("%s: %s writes with token %d after %d by %s", a.key, a.owner, a.token, c.token, c.writer))
	}
	c.value, c.writer, c.token = read+1, a.owner, max(c.token, a.token)
}

// judge returns all that must not be.
func (h *history) judge() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	byKey := map[string][]*attempt{}
	for _, a := range h.attempts {
		byKey[a.key] = append(byKey[a.key], a)
	}
	list := slices.Clone(h.findings)
	for _, attempts := range byKey {
		list = append(list, overlaps(attempts)...)
		list = append(list, fallingTokens(attempts)...)
		list = append(list, unexplained(attempts)...)
	}
	return list
}

// overlaps are the moments at which two clients could act on one lock.
func overlaps(attempts []*attempt) (list []string) {
	var claims []*attempt
	for _, a := range attempts {
		if a.outcome == wasGranted && a.claimEnd().After(a.told) {
			claims = append(claims, a)
		}
	}
	slices.SortFunc(claims, func(x, y *attempt) int { return x.told.Compare(y.told) })
	var longest *attempt
	for _, a := range claims {
		if longest != nil && a.told.Before(longest.claimEnd()) {
			list = append(list, fmt.Sprintf("%s was granted to %s while %s held it for %v more",
				a.key, a.owner, longest.owner, longest.claimEnd().Sub(a.told)))
		}
		if longest == nil || a.claimEnd().After(longest.claimEnd()) {
			longest = a
		}
	}
	return list
}

// fallingTokens are grants with a token that is not above all those that were known before they were asked for, or
// that was given before.
func fallingTokens(attempts []*attempt) (list []string) {
	var byAsk []*attempt
	given := map[int64]string{}
	for _, a := range attempts {
		if a.outcome != wasGranted || a.token == 0 {
			continue
		}
		if other, ok := given[a.token]; ok {
			list = append(list, fmt.Sprintf("%s: token %d was given to %s and to %s", a.key, a.token, other, a.owner))
		}
		given[a.token] = a.owner
		byAsk = append(byAsk, a)
	}
	byAck := slices.Clone(byAsk)
	slices.SortFunc(byAsk, func(x, y *attempt) int { return x.asked.Compare(y.asked) })
	slices.SortFunc(byAck, func(x, y *attempt) int { return x.told.Compare(y.told) })
	largest, next := int64(0), 0
	for _, a := range byAsk {
		for ; next < len(byAck) && byAck[next].told.Before(a.asked); next++ {
			largest = max(largest, byAck[next].token)
		}
		if a.token <= largest {
			list = append(list, fmt.Sprintf("%s: token %d of %s was asked for after %d was known", a.key, a.token, a.owner, largest))
		}
	}
	return list
}

// unexplained are refusals at a time when nobody can have had anything of the lock.
func unexplained(attempts []*attempt) (list []string) {
	for _, r := range attempts {
		if r.outcome != wasRefused {
			continue
		}
		held := slices.ContainsFunc(attempts, func(a *attempt) bool {
			return a != r && !a.asked.After(r.told) && !a.traceEnd().Before(r.asked)
		})
		if !held {
			list = append(list, fmt.Sprintf("%s was refused to %s after %v though nobody held it; before: %s", r.key, r.owner, r.told.Sub(r.asked), latest(attempts, r)))
		}
	}
	return list
}

// latest describes the attempt that began last before another.
func latest(attempts []*attempt, before *attempt) string {
	var last *attempt
	for _, a := range attempts {
		if a.asked.Before(before.asked) && (last == nil || a.asked.After(last.asked)) {
			last = a
		}
	}
	if last == nil {
		return "none"
	}
	since := func(at time.Time) time.Duration { return before.asked.Sub(at).Round(time.Millisecond / 10) }
	return fmt.Sprintf("outcome %d for %v, asked %v earlier, told %v, renewed %v, release asked %v, told %v", last.outcome, last.ttl,
		since(last.asked), since(last.told), since(last.renewAsked), since(last.releaseAsked), since(last.releaseTold))
}

// TestHistoryFindsWhatIsWrong plants one fault at a time.
func TestHistoryFindsWhatIsWrong(t *testing.T) {
	start := time.Now()
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	hold := func(owner string, asked, told, ends int, token int64) *attempt {
		return &attempt{
			key: "k", owner: owner, ttl: time.Second, outcome: wasGranted, token: token,
			asked: at(asked), told: at(told), ends: at(ends),
		}
	}
	released := func(a *attempt, asked, told int) *attempt {
		a.releaseAsked, a.releaseTold = at(asked), at(told)
		return a
	}
	lost := func(o outcome, asked, told int) *attempt {
		return &attempt{key: "k", owner: "x", ttl: time.Second, outcome: o, asked: at(asked), told: at(told)}
	}
	tests := map[string]struct {
		attempts []*attempt
		faults   int
	}{
		"one after the other": {[]*attempt{released(hold("a", 0, 1, 900, 1), 10, 12), hold("b", 11, 13, 900, 2)}, 0},
		"two at once":         {[]*attempt{hold("a", 0, 1, 900, 1), hold("b", 5, 6, 900, 2)}, 1},
		"two at once, a third between": {[]*attempt{
			hold("a", 0, 1, 900, 1), released(hold("b", 5, 6, 900, 2), 7, 8), hold("c", 20, 21, 900, 3),
		}, 2},
		"over by its own clock":  {[]*attempt{hold("a", 0, 1, 5, 1), hold("b", 5, 6, 900, 2)}, 0},
		"over when told":         {[]*attempt{hold("a", 0, 10, 5, 1), hold("b", 5, 6, 900, 2)}, 0},
		"same token":             {[]*attempt{released(hold("a", 0, 1, 900, 2), 2, 3), hold("b", 0, 5, 900, 2)}, 1},
		"falling token":          {[]*attempt{released(hold("a", 0, 1, 900, 2), 2, 3), hold("b", 4, 5, 900, 1)}, 1},
		"tokens of one moment":   {[]*attempt{released(hold("a", 0, 3, 900, 2), 4, 5), hold("b", 2, 6, 900, 1)}, 0},
		"refused, held":          {[]*attempt{hold("a", 0, 1, 900, 1), lost(wasRefused, 5, 6)}, 0},
		"refused, perhaps held":  {[]*attempt{lost(wasUnknown, 0, 1), lost(wasRefused, 900, 901)}, 0},
		"refused, free":          {[]*attempt{released(hold("a", 0, 1, 900, 1), 2, 3), lost(wasRefused, 1005, 1006)}, 1},
		"refused, long over":     {[]*attempt{hold("a", 0, 1, 990, 1), lost(wasRefused, 2100, 2101)}, 1},
		"refused, being tried":   {[]*attempt{lost(wasUnserved, 0, 9), lost(wasRefused, 5, 6)}, 0},
		"refused, all by itself": {[]*attempt{lost(wasRefused, 5, 6)}, 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHistory()
			h.attempts = tc.attempts
			if got := h.judge(); len(got) != tc.faults {
				t.Fatalf("found %d faults, want %d: %q", len(got), tc.faults, got)
			}
		})
	}
}

// TestCounterFindsASecondWriter has two clients use what one lock guards.
func TestCounterFindsASecondWriter(t *testing.T) {
	h := newHistory()
	holder := func(owner string, token int64, ends time.Duration) *attempt {
		now := time.Now()
		return &attempt{key: "k", owner: owner, outcome: wasGranted, token: token, told: now, ends: now.Add(ends)}
	}
	a, b, late := holder("a", 2, time.Minute), holder("b", 1, time.Minute), holder("late", 3, 0)
	h.write(late, h.read("k"))
	h.write(a, h.read("k"))
	if h.read("k") != 1 || len(h.findings) != 0 {
		t.Fatalf("the counter is %d, found %q", h.read("k"), h.findings)
	}
	h.write(b, 0)
	if len(h.findings) != 2 {
		t.Fatalf("found %q, want a lost update and a stale token", h.findings)
	}
}
