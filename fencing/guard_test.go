package fencing

import (
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestGuardCheck(t *testing.T) {
	var g Guard
	for _, tt := range []struct {
		name     string
		resource string
		token    Token
		want     error
		last     Token
	}{
		{"the first token", "a", 100, nil, 100},
		{"the same again", "a", 100, nil, 100},
		{"a stale one", "a", 99, ErrStale, 100},
		{"a higher one", "a", 101, nil, 101},
		{"what was good before", "a", 100, ErrStale, 101},
		{"another resource", "b", 1, nil, 1},
		{"no token", "a", 0, ErrToken, 101},
		{"beyond the largest", "a", Max + 1, ErrToken, 101},
		{"the largest", "a", Max, nil, Max},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := g.Check(tt.resource, tt.token)
			if !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			var stale *StaleError
			if errors.As(err, &stale) && (stale.Token != tt.token || stale.Last != tt.last || stale.Resource != tt.resource) {
				t.Errorf("told %+v", stale)
			}
			if got := g.Last(tt.resource); got != tt.last {
				t.Errorf("last %d, want %d", got, tt.last)
			}
		})
	}
}

// TestGuardForgetsNothingEarly: with no room left it refuses what it does not know, until something was idle for long.
func TestGuardForgetsNothingEarly(t *testing.T) {
	now := time.Unix(1000, 0)
	g := Guard{Limit: 2, Memory: time.Minute, Clock: func() time.Time { return now }}
	steps := []struct {
		after    time.Duration
		resource string
		token    Token
		want     error
	}{
		{0, "a", 10, nil},
		{0, "b", 10, nil},
		{30 * time.Second, "a", 11, nil},
		{29 * time.Second, "c", 1, ErrFull},
		{time.Second, "c", 1, nil}, // b was idle for a minute
		{0, "a", 10, ErrStale},
		{0, "b", 10, ErrFull},
		{0, "c", 1, nil},
	}
	for _, s := range steps {
		now = now.Add(s.after)
		if err := g.Check(s.resource, s.token); !errors.Is(err, s.want) {
			t.Errorf("%s %d: error %v, want %v", s.resource, s.token, err, s.want)
		}
	}
	if len(g.known) != 2 || g.used.Len() != 2 {
		t.Errorf("%d known, %d in order", len(g.known), g.used.Len())
	}
}

// TestGuardDoesOneThingAtATime has many owners write at once. Of each resource the tokens that write must not fall.
func TestGuardDoesOneThingAtATime(t *testing.T) {
	var g Guard
	var writers sync.WaitGroup
	var inside [3]atomic.Int32
	var last [3]Token
	for i := range 300 {
		writers.Go(func() {
			at := i % len(last)
			err := g.Do(strconv.Itoa(at), Token(1+i/len(last)), func() error {
				if inside[at].Add(1) != 1 {
					t.Error("two writes at once")
				}
				if token := Token(1 + i/len(last)); token < last[at] {
					t.Errorf("token %d writes after %d", token, last[at])
				} else {
					last[at] = token
				}
				inside[at].Add(-1)
				return nil
			})
			if err != nil && !errors.Is(err, ErrStale) {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	for i, token := range last {
		if token != 100 {
			t.Errorf("resource %d was last written by token %d", i, token)
		}
	}
}

// TestGuardRefusesWhoWaited: the lock passes on while an owner waits for his turn.
func TestGuardRefusesWhoWaited(t *testing.T) {
	var g Guard
	inside, waits := make(chan struct{}), make(chan struct{})
	var first, second sync.WaitGroup
	first.Go(func() {
		_ = g.Do("r", 1, func() error {
			close(inside)
			<-waits
			return nil
		})
	})
	<-inside
	var err error
	second.Go(func() { err = g.Do("r", 1, func() error { t.Error("it wrote"); return nil }) })
	for { // until it waits for its turn
		g.mu.Lock()
		users := seenIn(g.known["r"]).users
		g.mu.Unlock()
		if users == 2 {
			break
		}
	}
	if err := g.Check("r", 2); err != nil {
		t.Fatal(err)
	}
	close(waits)
	first.Wait()
	second.Wait()
	if !errors.Is(err, ErrStale) {
		t.Errorf("error %v", err)
	}
	broken := errors.New("broken")
	if err := g.Do("r", 2, func() error { return broken }); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]Token{
		"1": 1, "9007199254740991": Max, "0": 0, "-1": 0, "9007199254740992": 0, "1.5": 0, "": 0, "1x": 0, "x": 0,
	} {
		got, err := Parse(text)
		if got != want || (want == 0) != errors.Is(err, ErrToken) {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
}
