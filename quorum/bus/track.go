package bus

import (
	"context"

	"github.com/redfence/redfence/commands"
)

// changes is the topic of changed keys.
var changes = commands.Topic{Kind: commands.TopicChanges}

// trackKeys begins or ends that the node tells of all changes of keys
// (https://redis.io/docs/latest/develop/reference/client-side-caching/, "Broadcasting mode"). The order comes from a
// second connection, which redirects to the subscribed one.
func (s *session) trackKeys(ctx context.Context, batch []change) error {
	for _, c := range batch {
		if !c.on {
			s.untrack()
			continue
		}
		s.untrack()
		s.side = s.client.Conn()
		if err := s.side.Do(ctx, "CLIENT", "TRACKING", "ON", "BCAST", "REDIRECT", s.id).Err(); err != nil {
			return err
		}
		s.settle(c.topic)
	}
	return nil
}

// untrack ends it. The connection is not used any more, since it would go on tracking.
func (s *session) untrack() {
	if s.side == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), pulse)
	defer cancel()
	_ = s.side.Do(ctx, "CLIENT", "TRACKING", "OFF").Err() // a connection that fails is not used again
	_ = s.side.Close()
	s.side = nil
}
