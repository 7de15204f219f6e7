// Package forward is what members of a Raft cluster say to their leader, and it to them, about calls of clients: frames on
// one ordered connection from each member to the leader.
package forward

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/raftstore/entry"
)

// Kind says what a frame is.
type Kind byte

// The kinds of frames.
const (
	Hello   Kind = 'H' // the first of a member: Server, Origin
	Welcome Kind = 'W' // the answer of one that leads: Term
	Submit  Kind = 'S' // a call: Session, Round, Seq, Acked, Age, Logged, Call
	Close   Kind = 'C' // a session has ended: Session
	Answer  Kind = 'A' // of a call: Round, Seq, Fate, Cut, Reply
	Ping    Kind = 'P' // the leader asks whether it still leads: Seq
	Pong    Kind = 'Q' // the member's answer: Seq, Term
)

// Fate says what became of a call.
type Fate byte

// The fates of a call.
const (
	Done    Fate = iota // the reply is that of its execution
	Refused             // surely not executed; the reply says why
	Moved               // surely not executed, since the one who was asked does not lead
	Lost                // it was sent to the log, which did not tell what became of it
)

// Frame is one message. Only what its kind names is sent.
type Frame struct {
	Kind           Kind
	Server, Origin string
	Term           uint64
	Session, Seq   uint64
	Round          uint64 // what the member calls this attempt to send its calls
	Acked          uint64 // all calls of the origin up to this number are answered
	Age            uint64 // ms since the client has sent the call
	Logged         bool   // the call must go through the log
	Call           *commands.Call
	Decoded        entry.Call // what Call was, in a frame that was read
	Fate           Fate
	Cut            bool // the client's connection must be closed
	Reply          resp.Value
}

// maxFrame bounds a frame in bytes. The largest call that the log takes is smaller; a reply that is larger ends the connection.
const maxFrame = 512 << 20

// ErrFrame is returned for bytes that are no frame.
var ErrFrame = errors.New("malformed frame")

// Append writes a frame behind dst: the length of what follows in 4 bytes (big endian), the kind, and then its parts in the
// order in which the kind names them, as unsigned varints, strings behind their length, and truth values as 0 or 1.
func Append(dst []byte, f Frame) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0, byte(f.Kind))
	switch f.Kind {
	case Hello:
		dst = text(text(dst, f.Server), f.Origin)
	case Welcome:
		dst = binary.AppendUvarint(dst, f.Term)
	case Submit:
		dst = numbers(dst, f.Session, f.Round, f.Seq, f.Acked, f.Age, truth(f.Logged))
		dst = entry.AppendCall(dst, f.Call)
	case Close:
		dst = numbers(dst, f.Session)
	case Answer:
		dst = numbers(dst, f.Round, f.Seq, uint64(f.Fate), truth(f.Cut))
		dst = entry.AppendValue(dst, f.Reply)
	case Ping:
		dst = numbers(dst, f.Seq)
	case Pong:
		dst = numbers(dst, f.Seq, f.Term)
	}
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return dst
}

func numbers(dst []byte, list ...uint64) []byte {
	for _, n := range list {
		dst = binary.AppendUvarint(dst, n)
	}
	return dst
}

func text(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// Read reads one frame.
func Read(r *bufio.Reader) (Frame, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return Frame{}, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n == 0 || n > maxFrame {
		return Frame{}, fmt.Errorf("%w: %d bytes", ErrFrame, n)
	}
	body, err := readBody(r, int64(n))
	if err != nil {
		return Frame{}, err
	}
	return decode(body)
}

// AtHand tells whether a whole frame can be read without waiting.
func AtHand(r *bufio.Reader) bool {
	if r.Buffered() < 4 {
		return false
	}
	head, _ := r.Peek(4)
	return uint64(r.Buffered()) >= 4+uint64(binary.BigEndian.Uint32(head))
}

// readBody trusts no length: it takes memory as the bytes come.
func readBody(r *bufio.Reader, n int64) (string, error) {
	if n <= 64<<10 {
		body := make([]byte, n)
		_, err := io.ReadFull(r, body)
		return string(body), err
	}
	body, err := io.ReadAll(io.LimitReader(r, n))
	if err == nil && int64(len(body)) < n {
		err = io.ErrUnexpectedEOF
	}
	return string(body), err
}

func decode(body string) (Frame, error) {
	d := entry.Reader{Text: body[1:]}
	f := Frame{Kind: Kind(body[0])}
	var err error
	switch f.Kind {
	case Hello:
		f.Server, f.Origin = d.Str(), d.Str()
	case Welcome:
		f.Term = d.Uint()
	case Submit:
		f.Session, f.Round, f.Seq, f.Acked, f.Age, f.Logged = d.Uint(), d.Uint(), d.Uint(), d.Uint(), d.Uint(), d.Bool()
		f.Decoded, err = entry.DecodeCall(d.Text)
		d.Text = ""
	case Close:
		f.Session = d.Uint()
	case Answer:
		f.Round, f.Seq, f.Fate, f.Cut = d.Uint(), d.Uint(), Fate(d.Uint()), d.Bool()
		f.Reply, d.Text, err = entry.DecodeValue(d.Text)
	case Ping:
		f.Seq = d.Uint()
	case Pong:
		f.Seq, f.Term = d.Uint(), d.Uint()
	default:
		d.Bad = true
	}
	if d.Bad || d.Text != "" || err != nil {
		return Frame{}, fmt.Errorf("%w of kind %q", ErrFrame, body[0])
	}
	return f, nil
}
