package commands

// TopicKind tells apart what a process can listen to; each kind has a namespace of its own.
type TopicKind uint8

// The kinds of topics.
const (
	TopicChannel TopicKind = iota // SUBSCRIBE
	TopicPattern                  // PSUBSCRIBE
	TopicShard                    // SSUBSCRIBE
	TopicChanges                  // CLIENT TRACKING: the changes of all keys; it has no name
)

// Topic is what a process listens to while some of its sessions want to hear of it.
type Topic struct {
	Kind TopicKind
	Name string
}
