package proxy

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/proxy/tracking"
)

// tracked is how the keys that a session reads are tracked
// (https://redis.io/docs/latest/commands/client-tracking/).
type tracked struct {
	args.Tracking          // as last asked for, but with all prefixes, sorted
	caching       bool     // CLIENT CACHING was given for the next command
	to            *invalid // nil when off
}

// remembers tells whether the keys that the command at hand reads are to be tracked.
func (t *tracked) remembers() bool {
	return t.On && !t.Broadcast && (!t.OptIn || t.caching) && (!t.OptOut || !t.caching)
}

// mostPrefixes is how many prefixes a connection may have: each change of a key looks at all of them.
const mostPrefixes = 128

// refusal is why CLIENT TRACKING ON cannot be done, checked in the order of Redis (networking.c, clientCommand).
func (t *tracked) refusal(o args.Tracking) error {
	switch {
	case len(o.Prefixes) > 0 && !o.Broadcast:
		return resp.ErrPrefixAlone
	case t.On && t.Broadcast != o.Broadcast:
		return resp.ErrBroadcastSwitch
	case o.Broadcast && (o.OptIn || o.OptOut):
		return resp.ErrBroadcastOpt
	case o.OptIn && o.OptOut:
		return resp.ErrOptInAndOut
	case (o.OptIn && t.OptOut) || (o.OptOut && t.OptIn):
		return resp.ErrOptSwitch
	case len(t.Prefixes)+len(o.Prefixes) > mostPrefixes:
		return resp.TooMany("prefixes", mostPrefixes)
	}
	for i, prefix := range o.Prefixes {
		if j := slices.IndexFunc(t.Prefixes, overlapping(prefix)); j >= 0 {
			return resp.PrefixOverlap(prefix, t.Prefixes[j])
		}
		if j := slices.IndexFunc(o.Prefixes[i+1:], overlapping(prefix)); j >= 0 {
			return resp.PrefixesOverlap(prefix, o.Prefixes[i+1+j])
		}
	}
	return nil
}

func overlapping(a string) func(b string) bool {
	return func(b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }
}

// clientTracking answers CLIENT TRACKING. OK is answered when no change of a key goes unheard.
func clientTracking(s *session, r *commands.Request) ([]Topic, func() []resp.Value) {
	o := r.Opts.(args.Tracking)
	if o.Redirected && s.srv.byID(o.Redirect) == nil {
		return nil, fixedReply(resp.ErrRedirectUnknown.Value())
	}
	if !o.On {
		s.stopTracking()
		return nil, fixedReply(resp.OK())
	}
	if err := s.tracked.refusal(o); err != nil {
		return nil, fixedReply(resp.ReplyFor(err))
	}
	var fresh []Topic
	if !s.tracked.On {
		fresh = []Topic{allChanges}
	}
	s.track(o)
	return fresh, fixedReply(resp.OK())
}

// allChanges is what the backend listens to while sessions track keys.
var allChanges = Topic{Kind: commands.TopicChanges}

func (s *session) track(o args.Tracking) {
	if o.Broadcast && len(o.Prefixes) == 0 && !slices.Contains(s.tracked.Prefixes, "") {
		o.Prefixes = []string{""}
	}
	to := &invalid{session: s, redirect: o.Redirect, broadcast: o.Broadcast}
	s.srv.cfg.Tracking.Start(s.id, to, tracking.Mode{NoLoop: o.NoLoop, Broadcast: o.Broadcast, Prefixes: o.Prefixes})
	o.Prefixes = slices.Sorted(slices.Values(slices.Concat(s.tracked.Prefixes, o.Prefixes)))
	s.tracked.Tracking, s.tracked.to = o, to
	s.show()
}

func (s *session) stopTracking() {
	if s.tracked.On {
		s.srv.cfg.Tracking.Stop(s.id)
		s.heard.give(s.srv.ears, allChanges)
	}
	s.tracked = tracked{}
	s.show()
}

// clientCaching answers CLIENT CACHING, which holds for the next command, or for a whole transaction.
func clientCaching(s *session, r *commands.Request) resp.Value {
	yes := r.Opts.(bool)
	switch {
	case !s.tracked.On:
		return resp.ErrNotCaching.Value()
	case yes && !s.tracked.OptIn:
		return resp.ErrCachingYes.Value()
	case !yes && !s.tracked.OptOut:
		return resp.ErrCachingNo.Value()
	}
	s.tracked.caching = true
	return resp.OK()
}

// queuedCaching heeds a CLIENT CACHING YES that is queued after MULTI for the whole transaction, since the backend's
// part of it runs first. To track too much does no harm.
func (s *session) queuedCaching(r *commands.Request) {
	if r.Spec.Name == "client|caching" && r.Opts.(bool) && s.tracked.OptIn {
		s.tracked.caching = true
	}
}

// spendCaching ends CLIENT CACHING behind the command that it was given for.
func (s *session) spendCaching(word string) {
	if s.tracked.caching && s.tx == nil && !strings.EqualFold(word, "client") {
		s.tracked.caching = false
	}
}

// clientGetRedir answers CLIENT GETREDIR: -1 without tracking, 0 without redirection.
func clientGetRedir(s *session, _ *commands.Request) resp.Value { return resp.Int(s.redirect()) }

func (s *session) redirect() int64 {
	if !s.tracked.On {
		return -1
	}
	return s.tracked.Redirect
}

// clientTrackingInfo answers CLIENT TRACKINGINFO.
func clientTrackingInfo(s *session, _ *commands.Request) resp.Value {
	t := &s.tracked
	var flags []resp.Value
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"off", !t.On},
		{"on", t.On},
		{"bcast", t.Broadcast},
		{"optin", t.OptIn},
		{"caching-yes", t.OptIn && t.caching},
		{"optout", t.OptOut},
		{"caching-no", t.OptOut && t.caching},
		{"noloop", t.NoLoop},
		{"broken_redirect", t.to.lost()},
	} {
		if f.set {
			flags = append(flags, resp.Str(f.name))
		}
	}
	return resp.MapOf(resp.Str("flags"), resp.SetOf(flags...), resp.Str("redirect"), resp.Int(s.redirect()),
		resp.Str("prefixes"), resp.Strs(t.Prefixes...))
}

// invalid tells a session, or the one that it redirects to, that keys have changed. Behind the replies: a message
// never overtakes the reply of the read by which its key is tracked.
type invalid struct {
	session   *session
	redirect  int64 // the ID of the other session, 0 for none
	broadcast bool
	broken    atomic.Bool // the other session has ended
}

// lost tells whether messages are lost since the session that they were redirected to has ended.
func (i *invalid) lost() bool { return i != nil && i.broken.Load() }

// flags are those of CLIENT LIST.
func (i *invalid) flags() string {
	flags := "t"
	if i.lost() {
		flags += "R"
	}
	if i.broadcast {
		flags += "B"
	}
	return flags
}

// Invalidate implements tracking.Receiver.
func (i *invalid) Invalidate(keys []string) {
	var what resp.Value
	if keys != nil {
		what = resp.Strs(keys...)
	}
	if i.redirect == 0 {
		i.session.push(resp.Str("invalidate"), what)
		return
	}
	other := i.session.srv.byID(i.redirect)
	if other == nil {
		i.broken.Store(true)
		i.session.push(resp.Str("tracking-redir-broken"), resp.Int(i.redirect))
		return
	}
	other.redirected(what)
}

// invalidationChannel is where subscribers find the invalidations of connections that redirect to them.
const invalidationChannel = "__redis__:invalidate"

// redirected tells the session what another's invalidations say. In RESP2 it must be a subscriber, and gets a message.
func (s *session) redirected(what resp.Value) {
	if who := s.shown.Load(); who.proto == resp.RESP2 {
		if who.channels+who.patterns+who.shards > 0 {
			s.out.push(resp.PushOf(resp.Str("message"), resp.Str(invalidationChannel), what))
		}
		return
	}
	s.push(resp.Str("invalidate"), what)
}

// push sends a message that only RESP3 knows.
func (s *session) push(elems ...resp.Value) {
	if s.shown.Load().proto != resp.RESP2 {
		s.out.push(resp.PushOf(elems...))
	}
}

// push enters a message behind all replies.
func (o *outbox) push(v resp.Value) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.phase == phaseOpen {
		o.post(&slot{proto: o.proto, reply: v, done: true, bytes: slotBytes + weight(v)})
	}
}
