// Package entry is the codec of the log entries of raft mode. What it writes stays on disks for years: the format
// is versioned, and golden bytes in testdata pin every version that was ever released.
//
// An entry reads like a transcript of redis-cli: the plain command lines of the clients in the order in which they
// run, under one stamp.
package entry

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/redfence/redfence/commands"
)

// Header is what all calls of an entry share.
type Header struct {
	Now       int64 // store time in ms; decides expiry
	Wall      int64 // the proposer's wall clock in µs since the Unix epoch
	MaxMemory int64 // the proposer's limit of the state's size in bytes; 0 is none
	// FenceMemory is for how long the proposer wants FENCE.CHECK to remember, in ms; 0 is commands.FenceMemory.
	FenceMemory int64
}

// Entry is what one log entry says.
type Entry struct {
	Header
	Origins []Origin
	Calls   []Call
}

// Origin is a process that named its calls, so that one which comes into the log twice is run once.
type Origin struct {
	Name string
	// Acked is the number up to which all its calls were answered: those can be forgotten, and are never run again.
	Acked uint64
}

// ID names a call: the origin, as its place in Entry.Origins counted from 1, and the number that the origin has given it.
// The zero ID is a call without a name.
type ID struct {
	From int
	Seq  uint64
}

// Call is one unit of execution: a command line, or a block of them.
type Call struct {
	ID
	Block   bool
	Watched []commands.Watch // only of a block
	Lines   []Line
}

// Line is a command line and the database it runs in.
type Line struct {
	DB   int
	Args []string
}

// ErrCorrupt is returned when bytes are not an entry, or one of a version that this build does not know.
var ErrCorrupt = errors.New("log entry is damaged or of an unknown version")

// The versions of an entry. What names no calls and has the usual FenceMemory is still written in version 1.
const (
	version = 1
	named   = 2
	forget  = 2 // what is added to the version when another FenceMemory is in the header: 3 and 4
)

// The flags of a call.
const (
	flagBlock   = 1 // there may be any number of lines, and the reply is an array
	flagWatched = 2 // a block that depends on keys
	flagNamed   = 4 // it has an ID; not in version 1
)

// Append writes the entry of calls in version 1 behind dst:
//
//	version byte, Now varint, Wall varint, MaxMemory, number of calls, then per call:
//	flags byte, watched keys (only with that flag), number of lines (only with the block flag), then per line:
//	database, number of arguments, then per argument: length, bytes.
//
// Watched keys are their number, then per key: database, since, 1 when it was present or else 0, length, bytes.
//
// Numbers are unsigned varints unless said otherwise. With a FenceMemory the version is 3, and FenceMemory comes behind
// MaxMemory.
func Append(dst []byte, h Header, calls []*commands.Call) []byte {
	dst = appendHeader(dst, version, h)
	dst = binary.AppendUvarint(dst, uint64(len(calls)))
	for _, c := range calls {
		dst = appendCall(dst, c, ID{})
	}
	return dst
}

// AppendNamed writes the entry of calls in version 2, with an ID for each. It differs from version 1 in this: behind
// MaxMemory comes the number of origins, then per origin length and bytes of its name, and Acked. A call whose flags say so
// has behind them the number of its origin, counted from 1, and its own. With a FenceMemory the version is 4.
func AppendNamed(dst []byte, h Header, origins []Origin, calls []*commands.Call, ids []ID) []byte {
	dst = appendHeader(dst, named, h)
	dst = binary.AppendUvarint(dst, uint64(len(origins)))
	for _, o := range origins {
		dst = appendString(dst, o.Name)
		dst = binary.AppendUvarint(dst, o.Acked)
	}
	dst = binary.AppendUvarint(dst, uint64(len(calls)))
	for i, c := range calls {
		dst = appendCall(dst, c, ids[i])
	}
	return dst
}

func appendHeader(dst []byte, version byte, h Header) []byte {
	if h.FenceMemory != 0 {
		version += forget
	}
	dst = append(dst, version)
	dst = binary.AppendVarint(dst, h.Now)
	dst = binary.AppendVarint(dst, h.Wall)
	dst = binary.AppendUvarint(dst, uint64(h.MaxMemory))
	if h.FenceMemory != 0 {
		dst = binary.AppendUvarint(dst, uint64(h.FenceMemory))
	}
	return dst
}

// AppendCall writes one call without its ID behind dst, as in an entry.
func AppendCall(dst []byte, c *commands.Call) []byte { return appendCall(dst, c, ID{}) }

func appendString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func appendCall(dst []byte, c *commands.Call, id ID) []byte {
	var flags byte
	if c.Block || len(c.Watched) > 0 {
		flags |= flagBlock
	}
	if len(c.Watched) > 0 {
		flags |= flagWatched
	}
	if id.From > 0 {
		dst = append(dst, flags|flagNamed)
		dst = binary.AppendUvarint(dst, uint64(id.From))
		dst = binary.AppendUvarint(dst, id.Seq)
	} else {
		dst = append(dst, flags)
	}
	if flags&flagWatched != 0 {
		dst = appendWatched(dst, c.Watched)
	}
	if flags&flagBlock != 0 {
		dst = binary.AppendUvarint(dst, uint64(len(c.Requests)))
	}
	for _, r := range c.Requests {
		dst = binary.AppendUvarint(dst, uint64(r.DB))
		dst = binary.AppendUvarint(dst, uint64(len(r.Args)))
		for _, arg := range r.Args {
			dst = appendString(dst, arg)
		}
	}
	return dst
}

func appendWatched(dst []byte, watched []commands.Watch) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(watched)))
	for _, w := range watched {
		dst = binary.AppendUvarint(dst, uint64(w.DB))
		dst = binary.AppendUvarint(dst, w.Since)
		present := uint64(0)
		if w.Present {
			present = 1
		}
		dst = binary.AppendUvarint(dst, present)
		dst = appendString(dst, w.Key)
	}
	return dst
}

// Size is an upper bound for the bytes that an entry has of one call, its ID included.
func Size(c *commands.Call) int {
	n := 1 + 3*binary.MaxVarintLen32 + binary.MaxVarintLen64
	for _, w := range c.Watched {
		n += 3*binary.MaxVarintLen32 + binary.MaxVarintLen64 + len(w.Key)
	}
	for _, r := range c.Requests {
		n += 2 * binary.MaxVarintLen32
		for _, arg := range r.Args {
			n += binary.MaxVarintLen32 + len(arg)
		}
	}
	return n
}

// Decode reads an entry. The strings of the result share one copy of data.
func Decode(data []byte) (Entry, error) {
	if len(data) == 0 || data[0] < version || data[0] > named+forget {
		return Entry{}, fmt.Errorf("%w: first bytes % x", ErrCorrupt, data[:min(len(data), 8)])
	}
	d := decoder{data: data[1:], text: string(data[1:])}
	e := Entry{Header: Header{Now: d.signed(), Wall: d.signed(), MaxMemory: d.size()}}
	if data[0] > named {
		e.FenceMemory = d.size()
		d.bad = d.bad || e.FenceMemory == 0
	}
	if data[0]%2 == named%2 {
		e.Origins = d.origins()
	}
	n := d.count()
	e.Calls = make([]Call, 0, n)
	for range n {
		e.Calls = append(e.Calls, d.call(len(e.Origins)))
	}
	if d.bad || d.at != len(d.data) {
		return Entry{}, ErrCorrupt
	}
	return e, nil
}

// decoder reads from data; text is the same bytes as a string, for arguments to be cut from.
type decoder struct {
	data []byte
	text string
	at   int
	bad  bool
}

// DecodeCall reads what AppendCall wrote. The strings of the result are parts of text.
func DecodeCall(text string) (Call, error) {
	d := decoder{data: []byte(text), text: text}
	c := d.call(0)
	if d.bad || d.at != len(d.data) {
		return Call{}, ErrCorrupt
	}
	return c, nil
}

func (d *decoder) origins() []Origin {
	n := d.count()
	list := make([]Origin, 0, n)
	for range n {
		list = append(list, Origin{Name: d.str(), Acked: d.unsigned()})
	}
	return list
}

func (d *decoder) id(origins int) ID {
	from, seq := d.unsigned(), d.unsigned()
	if from == 0 || from > uint64(origins) {
		d.bad = true
		return ID{}
	}
	return ID{From: int(from), Seq: seq}
}

// call reads a call of an entry with so many origins.
func (d *decoder) call(origins int) Call {
	flags := d.byte()
	var c Call
	if flags&flagNamed != 0 {
		c.ID = d.id(origins)
	}
	switch flags &^ flagNamed {
	case 0:
		c.Lines = []Line{d.line()}
		return c
	case flagBlock:
	case flagBlock | flagWatched:
		c.Watched = d.watched()
	default:
		d.bad = true
		return Call{}
	}
	c.Block = true
	for n := d.count(); n > 0 && !d.bad; n-- {
		c.Lines = append(c.Lines, d.line())
	}
	return c
}

func (d *decoder) watched() []commands.Watch {
	n := d.count()
	d.bad = d.bad || n == 0
	list := make([]commands.Watch, 0, n)
	for ; n > 0 && !d.bad; n-- {
		w := commands.Watch{DB: int(d.unsigned()), Since: d.unsigned()}
		present := d.unsigned()
		d.bad = d.bad || present > 1
		w.Present = present == 1
		w.Key = d.str()
		list = append(list, w)
	}
	return list
}

func (d *decoder) line() Line {
	l := Line{DB: int(d.unsigned())}
	n := d.count()
	if n == 0 {
		d.bad = true
		return l
	}
	l.Args = make([]string, 0, n)
	for range n {
		l.Args = append(l.Args, d.str())
	}
	return l
}

func (d *decoder) byte() byte {
	if d.at >= len(d.data) {
		d.bad = true
		return 0
	}
	d.at++
	return d.data[d.at-1]
}

// count reads a number of items that each take at least one byte, so that damage cannot ask for much memory.
func (d *decoder) count() int {
	n := d.unsigned()
	if n > uint64(len(d.data)-d.at) {
		d.bad = true
		return 0
	}
	return int(n)
}

// size reads a number of bytes.
func (d *decoder) size() int64 {
	n := d.unsigned()
	if n > math.MaxInt64 {
		d.bad = true
		return 0
	}
	return int64(n)
}

func (d *decoder) str() string {
	n := d.count()
	s := d.text[d.at : d.at+n]
	d.at += n
	return s
}

func (d *decoder) unsigned() uint64 {
	u, n := binary.Uvarint(d.data[d.at:])
	return u & d.step(n)
}

func (d *decoder) signed() int64 {
	i, n := binary.Varint(d.data[d.at:])
	return i & int64(d.step(n))
}

// step moves on by n bytes and returns a mask of ones, or of zeros when there was no number.
func (d *decoder) step(n int) uint64 {
	if n <= 0 {
		d.bad = true
		return 0
	}
	d.at += n
	return ^uint64(0)
}
