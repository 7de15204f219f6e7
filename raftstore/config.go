package raftstore

import (
	"crypto/tls"
	"log/slog"
	"time"

	"github.com/hashicorp/raft"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/raftstore/script"
)

// LogStore names the library that keeps the log on disk.
type LogStore string

// The log stores. A data directory stays with the one it was made with.
const (
	WAL  LogStore = "wal"  // hashicorp/raft-wal: one fsync per entry
	Bolt LogStore = "bolt" // raft-boltdb: two per entry
)

// Config says how a store runs. Start from DefaultConfig.
type Config struct {
	Dir      string // data directory; made when absent
	NodeID   string // name of this node; empty is the one that the data directory knows, or "redfence" in a new one
	LogStore LogStore
	Logger   *slog.Logger
	Sink     Sink // takes the events
	Cluster  Cluster

	// MaxBatch is how many calls at most become one log entry.
	MaxBatch int
	// MaxQueue is how many calls at most wait for the log; further ones are refused.
	MaxQueue int
	// MaxWait is how long a call may wait for the log before it is refused, and how long one that was sent to the
	// log may stay unanswered before its outcome is called unknown. Clients of locks give up after 3 s.
	MaxWait time.Duration
	// SnapshotEntries is how many log entries may follow a snapshot before the next is taken; SnapshotInterval is
	// how often that is looked at, at random between once and twice that.
	SnapshotEntries  uint64
	SnapshotInterval time.Duration
	// TrailingEntries is how many entries stay in the log behind a snapshot.
	TrailingEntries uint64
	// MaxMemory is the size of the state in bytes over which it may not grow; 0 is no limit. The limit of the node that
	// proposes an entry holds for it on all nodes.
	MaxMemory int64
	// Park is for how long at most a refused attempt on a contended lock is kept, to be granted in the order of arrival when
	// the lock is released; 0 is for 10 ms at most, and only while the lock changes hands quickly.
	Park time.Duration
	// FenceMemory is for how long FENCE.CHECK remembers a token; 0 is commands.FenceMemory. As with MaxMemory, that of the
	// proposing node holds.
	FenceMemory time.Duration
	// Scripts bounds what one script may use.
	Scripts script.Limits

	// Wall is the wall clock in µs since the Unix epoch. Only tests set it.
	Wall func() int64

	// Only tests set these.
	tick             time.Duration                     // see expire
	hotFor, heldBack time.Duration                     // see handOver
	disk             func(raft.LogStore) raft.LogStore // what stands between the library and the log
}

// Cluster says how a node meets the others. The port is opened when Expect or Join ask for others, or when the data directory
// belongs to a cluster already.
type Cluster struct {
	Listen    string      // host:port of the cluster port; port 0 picks a free one
	Advertise string      // what the others use for it; empty is the address that is listened on
	TLS       *tls.Config // as server and as client; nil is plain TCP
	Expect    int         // how many empty nodes form a new cluster; 0 and 1 wait for nobody
	Join      []string    // cluster ports of members, host:port; this node's own may be among them
	// Heartbeat is how long a follower hears nothing of its leader before it asks for votes: at random between once and
	// twice that. The leader gives up when it has not heard of a majority for that long.
	Heartbeat time.Duration

	// Only tests set these; see watchDisk.
	watchEvery, diskPatience time.Duration
	tryDisk                  func(path string) error
}

// fenceMemory is FenceMemory as the log has it: in ms, and 0 for what is usual.
func (c *Config) fenceMemory() int64 {
	if c.FenceMemory == commands.FenceMemory {
		return 0
	}
	return c.FenceMemory.Milliseconds()
}

func defaultCluster() Cluster {
	return Cluster{
		Listen: "127.0.0.1:0", Heartbeat: defaultHeartbeat,
		watchEvery: watchEvery, diskPatience: diskPatience, tryDisk: tryDisk,
	}
}

// asked tells whether there are to be others.
func (c Cluster) asked() bool { return c.Expect > 1 || len(c.Join) > 0 }

// DefaultConfig returns the configuration of a single node in dir.
func DefaultConfig(dir string) Config {
	return Config{
		Dir:              dir,
		LogStore:         WAL,
		Logger:           slog.New(slog.DiscardHandler),
		Sink:             noSink{},
		Cluster:          defaultCluster(),
		MaxBatch:         1024,
		MaxQueue:         1 << 16,
		MaxWait:          2500 * time.Millisecond,
		SnapshotEntries:  16384,
		SnapshotInterval: 30 * time.Second,
		TrailingEntries:  1024,
		Scripts:          script.DefaultLimits(),
		Wall:             wallMicros,
		tick:             time.Second,
		hotFor:           hotFor,
		heldBack:         heldBack,
		disk:             onDisk(dir),
	}
}

// Sink takes the events that come out of the log, in log order. Its methods must not block, and must not call the
// store.
type Sink interface {
	// Message delivers a publication and returns the number of local receivers.
	Message(m commands.Message) int
	// Ready says that a list or sorted set came into being or grew.
	Ready(db int, key string)
	// ReadyAll says the same of any number of keys of a database.
	ReadyAll(db int)
	// Tracking tells whether changes of keys matter to anybody now. One who is about to read a key has made it say so.
	Tracking() bool
	// Accessed takes what a call of a session did to keys, in order; session 0 stands for nobody: the end of a TTL, or
	// another node's session. What is read by calls that ask to be tracked comes as well, at the very moment of the
	// read, so that no change slips in between. It must not keep list.
	Accessed(session int64, list []commands.Access)
	// Missed says that this node has skipped a part of the log, whose publications will not come. exists tells whether
	// there is a key now, in any database.
	Missed(exists func(key string) bool)
}

type noSink struct{}

func (noSink) Message(commands.Message) int      { return 0 }
func (noSink) Ready(int, string)                 {}
func (noSink) ReadyAll(int)                      {}
func (noSink) Tracking() bool                    { return false }
func (noSink) Accessed(int64, []commands.Access) {}
func (noSink) Missed(func(string) bool)          {}
