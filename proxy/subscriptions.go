package proxy

import (
	"maps"
	"slices"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/proxy/hub"
)

// subscriptions are the channels and patterns of a session, as its commands left them. The hub follows when the
// commands take effect.
type subscriptions [3]map[string]struct{}

// any tells whether the session is subscribed to something.
func (t *subscriptions) any() bool {
	return len(t[hub.Channel])+len(t[hub.Pattern])+len(t[hub.Shard]) > 0
}

// count is the number that the acknowledgements of a kind carry: channels and patterns are counted together.
func (t *subscriptions) count(k hub.Kind) int {
	if k == hub.Shard {
		return len(t[hub.Shard])
	}
	return len(t[hub.Channel]) + len(t[hub.Pattern])
}

func (t *subscriptions) add(k hub.Kind, name string) {
	if t[k] == nil {
		t[k] = map[string]struct{}{}
	}
	t[k][name] = struct{}{}
}

// subscribe answers SUBSCRIBE, PSUBSCRIBE and SSUBSCRIBE: one frame for each name. The acknowledgements go out when
// the backend listens and the hub knows the session, and before the first message.
func subscribe(k hub.Kind, word string) handler {
	return handler{listen: func(s *session, r *commands.Request) ([]Topic, func() []resp.Value) {
		names := r.Args[1:]
		frames := make([]resp.Value, len(names))
		var fresh []Topic
		for i, name := range names {
			if _, known := s.topics[k][name]; !known {
				fresh = append(fresh, Topic{Kind: k, Name: name})
			}
			s.topics.add(k, name)
			frames[i] = acknowledgement(word, resp.Str(name), s.topics.count(k))
		}
		s.showTopics()
		return fresh, func() []resp.Value {
			for _, name := range names {
				s.srv.cfg.Hub.Add(s.out, k, name)
				if k == hub.Channel && s.srv.wake != nil {
					s.srv.wake.Subscribed(r.DB, name)
				}
			}
			return frames
		}
	}}
}

// unsubscribe answers UNSUBSCRIBE and its kin: one frame for each name given, or for each subscription when none is
// given, or one frame without a name when there is none either. No message follows its acknowledgement.
func unsubscribe(k hub.Kind, word string) handler {
	return handler{later: func(s *session, r *commands.Request) func() []resp.Value {
		names := r.Args[1:]
		if len(names) == 0 {
			names = slices.Sorted(maps.Keys(s.topics[k]))
		}
		frames := make([]resp.Value, 0, len(names)+1)
		var ended []string
		for _, name := range names {
			if _, known := s.topics[k][name]; known {
				ended = append(ended, name)
			}
			delete(s.topics[k], name)
			frames = append(frames, acknowledgement(word, resp.Str(name), s.topics.count(k)))
		}
		if len(names) == 0 {
			frames = append(frames, acknowledgement(word, resp.Value{}, s.topics.count(k)))
		}
		s.showTopics()
		return func() []resp.Value {
			s.drop(k, ended)
			return frames
		}
	}}
}

func acknowledgement(word string, name resp.Value, count int) resp.Value {
	return resp.PushOf(resp.Str(word), name, resp.Int(int64(count)))
}

// drop ends subscriptions at the hub and gives up what was heard for them.
func (s *session) drop(k hub.Kind, names []string) {
	for _, name := range names {
		s.srv.cfg.Hub.Remove(s.out, k, name)
		s.out.forget(k, name)
		s.heard.give(s.srv.ears, Topic{Kind: k, Name: name})
	}
}

// forgetTopics empties the subscriptions and returns what ends them at the hub.
func (s *session) forgetTopics() (end func()) {
	old := s.topics
	s.topics = subscriptions{}
	s.showTopics()
	return func() {
		for k := range old {
			s.drop(hub.Kind(k), slices.Collect(maps.Keys(old[k])))
		}
	}
}

// leaveAll takes the session off the hub when it is over: off all that it ever asked for and has not given up, since
// what its last commands were to do may not have been done.
func (s *session) leaveAll() {
	for _, t := range s.heard.giveAll(s.srv.ears) {
		if t.Kind != commands.TopicChanges {
			s.srv.cfg.Hub.Remove(s.out, t.Kind, t.Name)
		}
	}
}

func (s *session) showTopics() {
	s.channels, s.patterns, s.shards = len(s.topics[hub.Channel]), len(s.topics[hub.Pattern]), len(s.topics[hub.Shard])
	s.show()
}

// Listings of PUBSUB. They wait for the session's earlier commands, whose subscriptions they must show.

func pubsubNames(k hub.Kind) handler {
	return afterwards(func(s *session, r *commands.Request) resp.Value {
		names := s.srv.cfg.Hub.Names(k, r.Opts.(string))
		slices.Sort(names)
		return resp.Strs(names...)
	})
}

func pubsubCounts(k hub.Kind) handler {
	return afterwards(func(s *session, r *commands.Request) resp.Value {
		var pairs []resp.Value
		for _, name := range r.Args[2:] {
			pairs = append(pairs, resp.Str(name), resp.Int(int64(s.srv.cfg.Hub.Subscribers(k, name))))
		}
		return resp.Arr(pairs...)
	})
}

func pubsubPatterns(s *session, _ *commands.Request) resp.Value {
	return resp.Int(int64(s.srv.cfg.Hub.Topics(hub.Pattern)))
}

// afterwards makes a handler that runs when all earlier commands of the session are answered. It may run on another
// goroutine than the reader's, so it must not touch what belongs to that.
func afterwards(f func(*session, *commands.Request) resp.Value) handler {
	return handler{later: func(s *session, r *commands.Request) func() []resp.Value {
		return func() []resp.Value { return []resp.Value{f(s, r)} }
	}}
}

// woken is how many messages woke those who wait for locks.
func (s *Server) woken() int64 {
	if s.wake == nil {
		return 0
	}
	return s.wake.Woken()
}
