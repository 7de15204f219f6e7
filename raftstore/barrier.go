package raftstore

import (
	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

// Barrier calls ready when this node has run all that was acknowledged before, anywhere in the cluster: who listens to the
// sink hears only of what comes later. When that cannot be had, ready gets an error for the client. It does not wait, and may
// call ready before it returns.
//
// On the node that leads it is so already. Else an empty block goes through the log, together with whatever else goes, and
// comes back here.
func (s *Store) Barrier(ready func(error)) {
	if s.origin == nil || s.lead.Load() != nil {
		ready(nil)
		return
	}
	done := func(r commands.Result) {
		if r.Reply.IsErr() {
			ready(resp.Failure(r.Reply.Str))
			return
		}
		ready(nil)
	}
	s.origin.submit(s.origin.own, &commands.Call{Block: true, Done: done})
}
