package proxy

import (
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/proxy/hub"
)

// slot is one place in the order of what a session sends: the reply of a command, known or awaited, or a message.
// A slot is used once, so that a backend that calls Done late or twice cannot answer another command.
type slot struct {
	box   *outbox
	proto resp.Protocol // in which the reply is written
	mute  bool          // nothing is written (CLIENT REPLY)
	last  bool          // the connection ends behind it

	blocks bool // of a blocked command: nothing but messages comes behind it, and they need not wait for it

	// One of these says what is written. The outbox guards reply and done.
	reply resp.Value          // when done
	grant []commands.Grant    // told in front of reply
	raw   []byte              // when done, in place of reply: one that came from the upstream
	act   func() []resp.Value // runs when all replies before it are known, and returns what to write
	news  *hub.Delivery
	done  bool
	asked int // bytes of the command's arguments
	bytes int // what it counts in outbox.waiting

	call   commands.Call
	one    [1]*commands.Request // what call.Requests points to when it is a single request
	began  time.Time
	counts *Server // that counts the answer, if any
}

// slotBytes is what a waiting slot counts besides the bytes of its reply.
const slotBytes = 128

// known tells whether the slot can be written once it is the first.
func (s *slot) known() bool { return s.done || s.act != nil }

// answer is the Done of the slot's call.
func (s *slot) answer(r commands.Result) {
	if s.counts != nil {
		s.counts.tally(s.one[0].Spec, r.Reply, s.began)
	}
	s.box.answered(s, r)
}

// appendTo writes the slot in its wire form.
func (s *slot) appendTo(dst []byte) []byte {
	switch {
	case s.act != nil:
		for _, v := range s.act() {
			if !s.mute || v.Kind == resp.Push {
				dst = resp.Append(dst, v, s.proto)
			}
		}
		return dst
	case s.news != nil:
		return append(dst, s.news.Frame(s.proto)...)
	case s.mute:
		return dst
	case s.raw != nil:
		return append(dst, s.raw...)
	}
	for _, g := range s.grant {
		dst = resp.Append(dst, grantPush(g), s.proto)
	}
	return resp.Append(dst, s.reply, s.proto)
}

// given are the grants of which clients are told: new tokens.
func given(list []commands.Grant) (fresh []commands.Grant) {
	for _, g := range list {
		if !g.Kept {
			fresh = append(fresh, g)
		}
	}
	return fresh
}

// grantBytes is what a fencing push has on the wire beside its key.
const grantBytes = 48

// grantPush is what a client that sent CLIENT FENCING ON is told in front of a reply.
func grantPush(g commands.Grant) resp.Value {
	return resp.Value{Kind: resp.Push, Elems: []resp.Value{resp.Str("fencing"), resp.Str(g.Key), resp.Int(g.Token)}}
}

// grantWeight estimates the bytes of fencing pushes.
func grantWeight(list []commands.Grant) (n int) {
	for _, g := range list {
		n += grantBytes + len(g.Key)
	}
	return n
}

// weight estimates the bytes of a value on the wire, for the bound on what waits.
func weight(v resp.Value) int {
	n := len(v.Str) + 16
	for i := range v.Elems {
		n += weight(v.Elems[i])
	}
	return n
}
