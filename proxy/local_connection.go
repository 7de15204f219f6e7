package proxy

import (
	"crypto/sha256"
	"crypto/subtle"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
)

// auth answers AUTH (https://redis.io/docs/latest/commands/auth/). There is one user, "default".
func auth(s *session, r *commands.Request) resp.Value {
	c := r.Opts.(args.Credentials)
	if s.srv.cfg.Password == "" && !c.Named {
		return resp.ErrNoPassword.Value()
	}
	if !s.authenticate(c) {
		return resp.ErrWrongPass.Value()
	}
	return resp.OK()
}

// authenticate checks credentials. As in Redis a failure leaves the connection as it was, and without a configured
// password the default user has any. Hashing makes the time independent of how much of the password is right.
func (s *session) authenticate(c args.Credentials) bool {
	given, want := sha256.Sum256([]byte(c.Password)), sha256.Sum256([]byte(s.srv.cfg.Password))
	right := s.srv.cfg.Password == "" || subtle.ConstantTimeCompare(given[:], want[:]) == 1
	if c.User != args.DefaultUser || !right {
		return false
	}
	s.allow(true)
	return true
}

// hello answers HELLO, in the protocol that it chose.
func hello(s *session, r *commands.Request) resp.Value {
	o := r.Opts.(args.HelloOptions)
	if o.Auth != nil && !s.authenticate(*o.Auth) {
		return resp.ErrWrongPass.Value()
	}
	if !s.allowed {
		return resp.ErrHelloNoAuth.Value()
	}
	if o.Name != nil {
		s.name = *o.Name
	}
	if o.Protocol != 0 {
		s.speak(o.Protocol)
	}
	s.show()
	pairs := []resp.Value{
		resp.Str("server"), resp.Str("redis"),
		resp.Str("version"), resp.Str(commands.RedisVersion),
		resp.Str("proto"), resp.Int(int64(s.proto)),
		resp.Str("id"), resp.Int(s.id),
		resp.Str("mode"), resp.Str(s.srv.mode()),
	}
	if s.srv.cfg.Face == nil {
		pairs = append(pairs, resp.Str("role"), resp.Str(s.srv.helloRole()))
	}
	return resp.MapOf(append(pairs, resp.Str("modules"), resp.Arr())...)
}

func (s *session) speak(p resp.Protocol) {
	s.proto = p
	s.out.speak(p)
}

// ping answers PING, to a subscriber in RESP2 in the form of a message, since it expects nothing else.
func ping(s *session, r *commands.Request) resp.Value {
	message := ""
	if len(r.Args) > 1 {
		message = r.Args[1]
	}
	switch {
	case s.proto == resp.RESP2 && s.topics.any():
		return resp.Strs("pong", message)
	case len(r.Args) > 1:
		return resp.Str(message)
	}
	return resp.Status("PONG")
}

func echo(_ *session, r *commands.Request) resp.Value { return resp.Str(r.Args[1]) }

func quit(s *session, _ *commands.Request) resp.Value {
	s.leaving = true
	return resp.OK()
}

// reset answers RESET (https://redis.io/docs/latest/commands/reset/): the connection is as new.
func reset(s *session, _ *commands.Request) func() []resp.Value {
	end := s.forgetTopics()
	s.leaveMulti()
	s.stopTracking()
	s.name, s.db = "", 0
	s.mute, s.silent, s.skipNext, s.fencing = false, false, false, false
	s.speak(resp.RESP2)
	s.allow(s.srv.cfg.Password == "")
	s.show()
	return func() []resp.Value {
		end()
		return []resp.Value{resp.Status("RESET")}
	}
}

func selectDB(s *session, r *commands.Request) resp.Value {
	s.db = r.Opts.(int)
	s.show()
	return resp.OK()
}
