package commands

import (
	"time"

	"github.com/redfence/redfence/commands/args"
)

// FenceMemory is for how long FENCE.CHECK remembers the largest token of a resource, unless something else is configured.
const FenceMemory = 720 * time.Hour

// fencingRows are the commands that Redis lacks: the fencing tokens of locks. A resource is no key: it has a name space of
// its own in each database, and flushing the database does not make it forget.
func fencingRows() []*Spec {
	return inGroup(Fencing, []*Spec{
		{
			Name: "fence", Arity: -2, Flags: ReadOnly | Fast, Keys: oneKey, Raft: Read, Parse: parse(args.Fence), Since: "1.0.0",
			Summary: "Returns the fencing token of a lock, or nil when it is free or held by another owner.",
		},
		{
			Name: "fence.check", Arity: 3, Flags: Write | DenyOOM | Fast | Conditional, Raft: Change, Parse: parse(args.FenceCheck),
			Since: "1.0.0", Summary: "Answers 1 and remembers a fencing token for a resource, or 0 when a higher one was seen.",
		},
		{
			Name: "fence.last", Arity: 2, Flags: ReadOnly | Fast, Raft: Read, Since: "1.0.0",
			Summary: "Returns the highest fencing token that FENCE.CHECK has seen for a resource, or nil.",
		},
	})
}
