package raftstore

import (
	"slices"
	"testing"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/raftstore/entry"
	"github.com/redfence/redfence/raftstore/forward"
)

const countHold = `redis.call('HINCRBY', KEYS[1], 'owner', 1) redis.call('PEXPIRE', KEYS[1], 60000) return nil`

// TestWhatAnAbandonedCallTells has the tokens of what it made and of what it changed, whichever node it came through.
func TestWhatAnAbandonedCallTells(t *testing.T) {
	c := startNodes(t)
	c.routed()
	for i, s := range c.running() {
		st, lock := s.Open(), "lock"+string(rune('0'+i))
		var token int64
		for _, kept := range []bool{false, true} {
			result := make(chan commands.Result, 1)
			st.Submit(&commands.Call{
				Requests:  []*commands.Request{request(t, "EVAL", countHold, "1", lock)},
				Abandoned: func() bool { return true }, Done: func(r commands.Result) { result <- r },
			})
			r := <-result
			if !r.Reply.IsNull() || len(r.Granted) == 0 {
				t.Fatalf("%+v", r)
			}
			if !kept {
				token = r.Granted[0].Token
			}
			if r.Granted[0] != (commands.Grant{Key: lock, Token: token, Kept: kept}) {
				t.Errorf("%+v, want %s with %d, kept %v", r.Granted, lock, token, kept)
			}
		}
		if got := do(t, st, "FENCE", lock).Reply.Int(); got != token {
			t.Errorf("the token is %d, told was %d", got, token)
		}
	}
}

// TestAnAbandonedCallIsDecided has a call be sent to a leader, and what is known of it after a while.
func TestAnAbandonedCallIsDecided(t *testing.T) {
	s := open(t, untimed(t)) // whose own calls go another way
	patience := s.cfg.MaxWait
	granted := []commands.Grant{{Key: "lock", Token: 7}}
	answered := func(o *origin, p *pending) {
		o.told(p, 0, forward.Done, commands.Result{}, false)
	}
	ran := func(o *origin, p *pending) {
		w := work{origins: []entry.Origin{{Name: o.name}}, ids: []entry.ID{{From: 1, Seq: p.seq}}, calls: []*commands.Call{p.call}}
		w.grant(0, granted)
		o.applied(w, []resp.Value{{}})
	}
	again := func(o *origin, p *pending) {
		w := work{origins: []entry.Origin{{Name: o.name}}, ids: []entry.ID{{From: 1, Seq: p.seq}}, calls: []*commands.Call{p.call}}
		o.applied(w, []resp.Value{{}})
	}
	unsent := func(o *origin, p *pending) { o.unsend(p, false) }
	inDoubt := func(o *origin, p *pending) { o.unsend(p, true) }
	type step func(*origin, *pending)
	for name, tt := range map[string]struct {
		waits bool // the client
		steps []step
		after time.Duration
		want  string // "waits", "taken", "taken, nobody knows which" or the error
	}{
		"of a client that waits":           {true, nil, 2 * patience, string(resp.ErrUnknownOutcome)},
		"answered to a client that waits":  {true, []step{answered}, 0, "taken, nobody knows which"},
		"nothing is known":                 {false, nil, 2 * patience, "waits"},
		"nothing is known for long":        {false, nil, 2 * abandonedWait, string(resp.ErrUnknownOutcome)},
		"this node has not run it":         {false, []step{answered}, 2 * patience, "waits"},
		"the leader's answer came first":   {false, []step{answered, ran}, 0, "taken"},
		"this node has run it":             {false, []step{ran}, 0, "taken"},
		"this node ran it before":          {true, []step{ran, answered}, 0, "taken"},
		"this node has met it twice":       {true, []step{ran, again, answered}, 0, "taken"},
		"it was not sent":                  {false, []step{unsent}, 2 * patience, string(resp.ErrTryAgainLeader)},
		"it is not sent again yet":         {false, []step{inDoubt}, 2 * patience, "waits"},
		"it is not sent again yet, waited": {true, []step{inDoubt}, 2 * patience, string(resp.ErrUnknownOutcome)},
	} {
		t.Run(name, func(t *testing.T) {
			o := &origin{s: s, news: make(chan struct{}, 1)}
			o.name = "me"
			got := "waits"
			call := &commands.Call{Abandoned: func() bool { return !tt.waits }, Done: func(r commands.Result) {
				switch {
				case r.Reply.IsErr():
					got = r.Reply.Str
				case slices.Equal(r.Granted, granted):
					got = "taken"
				default:
					got = "taken, nobody knows which"
				}
			}}
			p := &pending{call: call, stream: &Stream{store: s}, since: time.Now()}
			if err := o.enlist(p); err != nil {
				t.Fatal(err)
			}
			p.sent = true
			o.unsent--
			p.stream.unsent.Add(-1)
			for _, do := range tt.steps {
				do(o, p)
			}
			o.expire(p.since.Add(tt.after))
			if got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}
