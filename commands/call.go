package commands

import "github.com/redfence/redfence/commands/resp"

// Call is one unit of work that the front end hands to a backend: a request, or a block of requests that runs as
// one (MULTI).
type Call struct {
	Requests []*Request
	Block    bool // the reply is an array of all replies
	// Watched are the keys that a block depends on. When one of them has changed, nothing of the block runs and the
	// reply is NullArray.
	Watched []Watch
	// Session is whose call it is, 0 for nobody's: who changed a key, and who read it.
	Session int64
	// Track makes the backend report the keys that the call reads.
	Track bool
	// More says that other calls come at once, so the backend may wait with this one until its Flush.
	More bool
	// Fencing makes the backend tell which fencing tokens the call was given, see Result.Granted.
	Fencing bool
	// Abandoned tells whether nobody can take the answer any more; nil is never. Only calls have it that are taken back then.
	// So a backend takes the time to find out what became of one, and names in Result.Granted also what kept its token.
	Abandoned func() bool
	// Done is called exactly once, from any goroutine, and must not block: state machines call it.
	Done func(Result)
}

// Watch is what WATCH learned about a key, and what EXEC compares.
type Watch struct {
	DB      int
	Key     string
	Since   uint64 // the number of the last change of the whole state before the WATCH
	Present bool   // the key was present then
	Version string // quorum mode, in the place of Since: the version of the key
}

// WatchReply is the answer of a backend to WATCH, which clients never see: the number of the last change, then one
// boolean for each key that tells whether it is present.
func WatchReply(since uint64, present []bool) resp.Value {
	elems := make([]resp.Value, 0, 1+len(present))
	elems = append(elems, resp.Int(int64(since)))
	for _, p := range present {
		elems = append(elems, resp.Bool(p))
	}
	return resp.Arr(elems...)
}

// WatchesOf reads a backend's answer to a WATCH request: in raft mode a WatchReply, in quorum mode 0 and then for each key an array
// of 1 or 0, whether it is present, and its version. It returns nil when that is an error.
func WatchesOf(r *Request, reply resp.Value) []Watch {
	keys := r.Keys()
	if reply.Kind != resp.Array || len(reply.Elems) != 1+len(keys) {
		return nil
	}
	watches := make([]Watch, len(keys))
	for i, key := range keys {
		w := Watch{DB: r.DB, Key: key, Since: uint64(reply.Elems[0].Int())}
		present := reply.Elems[i+1]
		if present.Kind == resp.Array && len(present.Elems) == 2 {
			w.Version, present = present.Elems[1].Str, present.Elems[0]
		}
		w.Present = present.Int() != 0
		watches[i] = w
	}
	return watches
}

// Result is the outcome of a call.
type Result struct {
	Reply resp.Value
	Close bool // the outcome is unknown, so the connection must end behind this reply
	// Granted are the keys that came into being, or got another value, and are there behind the call; if it asked for that.
	Granted []Grant
}

// Grant is the fencing token that a call was given for a key.
type Grant struct {
	Key   string
	Token int64
	Kept  bool // the key had it before: the call changed the key in place; see Call.Abandoned
}

// InfoSection is one section of the INFO reply (https://redis.io/docs/latest/commands/info/).
type InfoSection struct {
	Name  string   // as in "# Name"
	Lines []string // "field:value", without line ends
}

// Message is a publication on its way to subscribers.
type Message struct {
	Channel string
	Payload string
	Shard   bool // made by SPUBLISH
}
