package proxy

import (
	"strings"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

// Face makes a server answer as something other than a data server: as a Redis Sentinel. Connections, authentication, TLS and
// publish/subscribe are those of every server; what its subscribers hear is only what Announce says. Its methods are called
// from all sessions at once and do not block.
type Face interface {
	// Mode is what HELLO and INFO call the server.
	Mode() string
	// Table is what can be asked. Its rows are Local.
	Table() *commands.Table
	// Answers are the names of the rows that the face answers itself, beside those that only it has.
	Answers() []string
	// Answer answers a command of the face.
	Answer(r *commands.Request) resp.Value
	// Info is the face's own section of INFO.
	Info() InfoSection
}

// deaf is the backend behind a face: sessions only hear what is announced.
type deaf struct{ Backend }

// Listen implements Backend.
func (deaf) Listen(_ Topic, ready func(error)) { ready(nil) }

// Unlisten implements Backend.
func (deaf) Unlisten(Topic) {}

// faceHandlers are the handlers of a server with a face: those of a data server, but for what the face answers.
func faceHandlers(named map[string]handler, table *commands.Table, f Face) map[string]handler {
	own := handler{now: func(_ *session, r *commands.Request) resp.Value { return f.Answer(r) }}
	for _, spec := range table.All() {
		if _, known := named[spec.Name]; !known {
			named[spec.Name] = own
		}
		if strings.HasSuffix(spec.Name, "|help") {
			named[spec.Name] = handler{now: help}
		}
	}
	for _, name := range f.Answers() {
		named[name] = own
	}
	return named
}

// Announce publishes to the subscribers of this server.
func (s *Server) Announce(channel, payload string) {
	s.cfg.Hub.Message(Message{Channel: channel, Payload: payload})
}

// mode is what HELLO and INFO call this server.
func (s *Server) mode() string {
	if s.cfg.Face != nil {
		return s.cfg.Face.Mode()
	}
	return "standalone"
}

// faceSections are the sections of INFO of a server with a face.
func (s *Server) faceSections() []section {
	own := s.cfg.Face.Info()
	return []section{
		{"Server", s.serverLines},
		{"Clients", s.clientsLines},
		{"CPU", cpuLines},
		{"Stats", s.statsLines},
		{own.Name, fixed(own.Lines...)},
	}
}
