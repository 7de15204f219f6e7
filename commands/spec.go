package commands

import (
	"strings"

	"github.com/redfence/redfence/commands/resp"
)

// Flags are the properties of a command that others decide on. They carry the names of COMMAND INFO
// (https://redis.io/docs/latest/commands/command/).
type Flags uint32

// The flags, in the order in which COMMAND INFO lists them.
const (
	Write           Flags = 1 << iota // may change keys
	ReadOnly                          // never changes keys
	DenyOOM                           // may grow the data, refused when memory is full
	Admin                             // for operators
	PubSub                            // belongs to publish/subscribe
	NoScript                          // refused inside scripts
	Blocking                          // may wait
	Loading                           // served while data is loading
	Stale                             // served without contact to a leader
	Fast                              // constant or logarithmic time
	NoAuth                            // served before AUTH
	MovableKeys                       // keys are not only at First..Last
	NoMulti                           // refused inside MULTI
	Subscribed                        // allowed to a RESP2 connection in subscribe mode (not a flag of COMMAND INFO)
	Conditional                       // a write that often changes nothing: tried without the log first (not in COMMAND INFO)
	SkipMonitor                       // not shown to MONITOR
	SkipSlowlog                       // not in the slow log
	NoMandatoryKeys                   // may be used without keys
	AllowBusy                         // served while a script does not end
)

// RaftClass says where a command runs in raft mode.
type RaftClass uint8

// The classes of raft mode.
const (
	Local  RaftClass = iota // answered by the front end
	Read                    // reads the state machine behind a read barrier; never in the log of its own accord
	Change                  // goes through the log unless it turns out to change nothing
)

// KeySpec locates the keys of a command line: those from First to Last, then those that Num counts, then that of SORT's
// option STORE. The zero KeySpec means no keys.
type KeySpec struct {
	First int  // index of the first key, 0 when there is none
	Last  int  // index of the last key; negative counts from the end
	Step  int  // distance between keys
	Num   int  // index of the argument that counts the keys, which follow it; 0 when First..Last says it all
	Store bool // the key behind the option STORE of SORT as well
}

// Group is the heading under which redis.io lists a command.
type Group string

// The groups, named as on redis.io.
const (
	Connection Group = "connection"
	Generic    Group = "generic"
	HashGroup  Group = "hash"
	ListGroup  Group = "list"
	PubSubs    Group = "pubsub"
	Scripting  Group = "scripting"
	ServerInfo Group = "server"
	SetGroup   Group = "set"
	ZSetGroup  Group = "sorted-set"
	StringsGrp Group = "string"
	Fencing    Group = "fencing"
)

// Spec is one row of the table: all that must be known about a command before it runs.
type Spec struct {
	ID      int    // position in the table, dense from 0; for dispatch arrays
	Name    string // lower case; "client|setname" for a subcommand
	Arity   int    // counts the name (and the subcommand's); negative means at least
	Flags   Flags
	Keys    KeySpec
	Group   Group
	Raft    RaftClass
	Parse   func(args []string) (any, error) // options to a typed value; nil when raw arguments are enough
	Since   string                           // the Redis version that introduced it
	Summary string                           // one sentence, shown by COMMAND DOCS and the generated list
	Sub     map[string]*Spec                 // by lower-case name; nil unless the command is a container
}

// Has tells whether all of want are set.
func (f Flags) Has(want Flags) bool { return f&want == want }

// Request is a command line bound to its row. It is not changed once bound.
type Request struct {
	Spec *Spec
	Args []string // the whole line; Args[0] is the name as the client wrote it
	Opts any      // what Spec.Parse made of it
	DB   int      // the database that the session had selected
}

// Lookup finds the row of a command line in the standard table.
func Lookup(line []string) (*Spec, error) { return standard.Lookup(line) }

// Lookup finds the row of a command line, a subcommand's where the command is a container. The error is the exact
// text of Redis for an unknown command or subcommand.
func (t *Table) Lookup(line []string) (*Spec, error) {
	spec, ok := t.byName[line[0]]
	if !ok {
		spec, ok = t.byName[strings.ToLower(line[0])]
	}
	if !ok {
		return nil, resp.UnknownCommand(line)
	}
	if spec.Sub == nil || len(line) < 2 {
		return spec, nil
	}
	sub, ok := spec.Sub[strings.ToLower(line[1])]
	if !ok {
		return nil, resp.UnknownSubcommand(spec.Name, line[1])
	}
	return sub, nil
}

// Has tells whether the table has a command, perhaps with other subcommands than those asked for.
func (t *Table) Has(name string) bool { return t.byName[strings.ToLower(name)] != nil }

// Bind looks a line up, checks its arity and parses its options.
func Bind(line []string, db int) (*Request, error) {
	spec, err := Lookup(line)
	if err != nil {
		return nil, err
	}
	return spec.Bind(line, db)
}

// Bind checks the arity of a line that Lookup found to be of this row and parses its options.
func (s *Spec) Bind(line []string, db int) (*Request, error) {
	if !s.Accepts(len(line)) {
		return nil, resp.WrongArity(s.Name)
	}
	r := &Request{Spec: s, Args: line, DB: db}
	if s.Parse == nil {
		return r, nil
	}
	opts, err := s.Parse(line)
	if err != nil {
		return nil, err
	}
	r.Opts = opts
	return r, nil
}

// Accepts tells whether a line of n words, the name included, has the right arity.
func (s *Spec) Accepts(n int) bool {
	if s.Arity < 0 {
		return n >= -s.Arity
	}
	return n == s.Arity
}
