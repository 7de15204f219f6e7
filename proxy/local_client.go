package proxy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
)

func clientID(s *session, _ *commands.Request) resp.Value { return resp.Int(s.id) }

func clientGetName(s *session, _ *commands.Request) resp.Value {
	if s.name == "" {
		return resp.Value{}
	}
	return resp.Str(s.name)
}

func clientSetName(s *session, r *commands.Request) resp.Value {
	s.name = r.Opts.(string)
	s.show()
	return resp.OK()
}

func clientSetInfo(s *session, r *commands.Request) resp.Value {
	about := r.Opts.(args.LibraryInfo)
	if about.Version {
		s.libraryVersion = about.Value
	} else {
		s.library = about.Value
	}
	s.show()
	return resp.OK()
}

// clientReply answers CLIENT REPLY, unless that is what it turns off.
func clientReply(s *session, r *commands.Request) resp.Value {
	switch mode := r.Opts.(args.ReplyMode); mode {
	case args.ReplyOn:
		s.silent, s.mute = false, false
	case args.ReplyOff:
		s.silent, s.mute = true, true
	default:
		s.skipNext, s.mute = !s.silent, true
	}
	return resp.OK()
}

// clientFencing answers CLIENT FENCING: whether a push `fencing <key> <token>` stands in front of each reply that grants one.
func clientFencing(s *session, r *commands.Request) resp.Value {
	on := r.Opts.(bool)
	if on && s.proto != resp.RESP3 {
		return resp.ErrFencingRESP2.Value()
	}
	s.fencing = on
	return resp.OK()
}

func clientInfo(s *session, _ *commands.Request) resp.Value { return resp.Text(s.describe() + "\n") }

// clientList answers CLIENT LIST (https://redis.io/docs/latest/commands/client-list/), oldest connection first.
func clientList(s *session, r *commands.Request) resp.Value {
	filter := r.Opts.(args.ClientFilter)
	all := s.srv.all()
	slices.SortFunc(all, func(a, b *session) int { return cmp.Compare(a.id, b.id) })
	var text strings.Builder
	for _, other := range all {
		if other.passes(filter) {
			text.WriteString(other.describe() + "\n")
		}
	}
	return resp.Text(text.String())
}

func (s *session) passes(f args.ClientFilter) bool {
	switch {
	case f.IDs != nil:
		return slices.Contains(f.IDs, s.id)
	case f.ByType:
		return s.kind() == f.Type
	}
	return true
}

func (s *session) kind() args.ClientType {
	if who := s.shown.Load(); who.channels+who.patterns+who.shards > 0 {
		return args.PubSubClient
	}
	return args.NormalClient
}

// describe is the line of CLIENT LIST for the session, with all fields of Redis 7.0 in its order, since some clients
// read them by position, and the two newer ones that tell the library. Any goroutine may call it. What is not known
// here, such as the fill of buffers, is 0.
func (s *session) describe() string {
	who, age := s.shown.Load(), time.Since(s.began)
	flags, multi := "", s.multi.Load()-1
	if s.kind() == args.PubSubClient {
		flags += "P"
	}
	if multi >= 0 {
		flags += "x"
	}
	if s.isBlocked() {
		flags += "b"
	}
	redirect := int64(-1)
	if who.invalid != nil {
		flags, redirect = flags+who.invalid.flags(), who.invalid.redirect
	}
	if flags == "" {
		flags = "N"
	}
	owed, asked, waiting := s.out.load()
	latest := "NULL"
	if spec := s.latest.Load(); spec != nil {
		latest = spec.Name
	}
	return fmt.Sprintf("id=%d addr=%v laddr=%v fd=0 name=%s age=%d idle=%d flags=%s db=%d sub=%d psub=%d ssub=%d multi=%d "+
		"qbuf=0 qbuf-free=0 argv-mem=%d multi-mem=0 rbs=0 rbp=0 obl=0 oll=%d omem=%d tot-mem=%d "+
		"events=r cmd=%s user=default redir=%d resp=%d lib-name=%s lib-ver=%s",
		s.id, s.raw.RemoteAddr(), s.raw.LocalAddr(), who.name,
		age/time.Second, (age-time.Duration(s.active.Load()))/time.Second,
		flags, who.db, who.channels, who.patterns, who.shards, multi, asked, owed, waiting, asked+waiting, latest, redirect, who.proto, who.library, who.libraryVersion)
}
