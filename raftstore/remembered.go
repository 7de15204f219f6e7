package raftstore

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"

	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/raftstore/entry"
)

const (
	// forgetAfter is for how much store time (ms) an origin is remembered that is not heard of. Its calls are refused long
	// before, see Config.MaxWait.
	forgetAfter = 60_000
	// keptReply is how many bytes of a reply are kept. Of a longer one is only known that its call was run.
	keptReply = 64 << 10
)

// remembered is what the state machine knows of the calls that it has run and whose answers may not have arrived: their
// replies. A call that comes again is answered from here. It is part of the state: the same on every node, and in snapshots.
type remembered map[string]*calls // by the name of the origin

// calls are those of one origin.
type calls struct {
	acked   uint64 // up to here everything was answered; such a call is never run again
	heard   int64  // store time of its last entry
	log     []ran  // in the order in which they were run; what is acked goes from the front, and nothing is ever changed in place
	replies map[uint64]resp.Value
}

// ran is a call that was run.
type ran struct {
	seq   uint64
	reply resp.Value
}

// hear takes note of the origins of an entry at a store time, and forgets those that have not been heard of for long.
func (r remembered) hear(origins []entry.Origin, now int64) {
	for _, o := range origins {
		c := r[o.Name]
		if c == nil {
			c = &calls{replies: map[uint64]resp.Value{}}
			r[o.Name] = c
		}
		c.heard = now
		c.ack(o.Acked)
	}
	maps.DeleteFunc(r, func(_ string, c *calls) bool { return now-c.heard > forgetAfter })
}

func (c *calls) ack(seq uint64) {
	c.acked = max(c.acked, seq)
	for len(c.log) > 0 && c.log[0].seq <= c.acked {
		delete(c.replies, c.log[0].seq)
		c.log = c.log[1:]
	}
}

// note takes down the reply of a call that was run.
func (c *calls) note(seq uint64, v resp.Value) {
	if weight(v) > keptReply {
		v = resp.ErrUnknownOutcome.Value()
	}
	c.log = append(c.log, ran{seq, v})
	c.replies[seq] = v
}

// weight is about the number of bytes of a reply.
func weight(v resp.Value) int {
	n := 16 + len(v.Str)
	for _, e := range v.Elems {
		n += weight(e)
	}
	return n
}

// copy returns what a snapshot writes while the state machine goes on.
func (r remembered) copy() remembered {
	c := make(remembered, len(r))
	for name, known := range r {
		c[name] = &calls{acked: known.acked, heard: known.heard, log: slices.Clip(known.log)}
	}
	return c
}

const (
	rememberedMagic   = "RFRC"
	rememberedVersion = 1
	rememberedLimit   = 1 << 30 // bytes
)

// writeTo writes a section of a snapshot, which stands in front of the keyspace: magic, version byte, length (4 bytes, big
// endian), CRC-32C (the same), content. The content has the number of origins and then, in the order of their names, name,
// acked, heard (signed), number of calls, and for each its number, and length and bytes of its reply. A node that remembers nothing writes nothing.
func (r remembered) writeTo(w io.Writer) error {
	if len(r) == 0 {
		return nil
	}
	b := binary.AppendUvarint(nil, uint64(len(r)))
	for _, name := range slices.Sorted(maps.Keys(r)) {
		c := r[name]
		b = append(binary.AppendUvarint(b, uint64(len(name))), name...)
		b = binary.AppendUvarint(b, c.acked)
		b = binary.AppendVarint(b, c.heard)
		b = binary.AppendUvarint(b, uint64(len(c.log)))
		for _, call := range c.log {
			reply := entry.AppendValue(nil, call.reply)
			b = binary.AppendUvarint(binary.AppendUvarint(b, call.seq), uint64(len(reply)))
			b = append(b, reply...)
		}
	}
	head := append([]byte(rememberedMagic), rememberedVersion)
	head = binary.BigEndian.AppendUint32(head, uint32(len(b)))
	head = binary.BigEndian.AppendUint32(head, crc32.Checksum(b, crc32c))
	_, err := w.Write(append(head, b...))
	return err
}

var crc32c = crc32.MakeTable(crc32.Castagnoli)

// readRemembered reads the section if there is one. What follows it is the keyspace.
func readRemembered(r *bufio.Reader) (remembered, error) {
	const headSize = len(rememberedMagic) + 9
	head, err := r.Peek(headSize)
	if err != nil || !bytes.HasPrefix(head, []byte(rememberedMagic)) {
		return remembered{}, nil //nolint:nilerr // the keyspace says what is wrong with a snapshot that is so short
	}
	size, sum := binary.BigEndian.Uint32(head[5:]), binary.BigEndian.Uint32(head[9:])
	if head[4] != rememberedVersion || size > rememberedLimit {
		return nil, fmt.Errorf("snapshot: remembered calls of version %d and %d bytes", head[4], size)
	}
	_, _ = r.Discard(headSize)
	content, err := io.ReadAll(io.LimitReader(r, int64(size)))
	if err != nil {
		return nil, err
	}
	if len(content) != int(size) || crc32.Checksum(content, crc32c) != sum {
		return nil, fmt.Errorf("snapshot: remembered calls are damaged (%d of %d bytes)", len(content), size)
	}
	return decodeRemembered(string(content))
}

func decodeRemembered(text string) (remembered, error) {
	d := entry.Reader{Text: text}
	r := remembered{}
	for n := d.Uint(); n > 0 && !d.Bad; n-- {
		name := d.Str()
		c := &calls{acked: d.Uint(), heard: d.Int(), replies: map[uint64]resp.Value{}}
		for m := d.Uint(); m > 0 && !d.Bad; m-- {
			c.note(d.Uint(), d.Value())
		}
		r[name] = c
	}
	if d.Bad || d.Text != "" {
		return nil, fmt.Errorf("snapshot: remembered calls: %w", entry.ErrCorrupt)
	}
	return r, nil
}
