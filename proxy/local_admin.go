package proxy

import (
	"slices"
	"strings"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
)

// clientKill answers CLIENT KILL. Killed connections end at once, with what they still should have been sent; the
// one that asks ends behind the reply.
func clientKill(s *session, r *commands.Request) resp.Value {
	filter, killed := r.Opts.(args.KillFilter), int64(0)
	for _, other := range s.srv.all() {
		switch {
		case !other.meets(filter):
			continue
		case other != s:
			other.kill()
		case filter.Me:
			s.leaving = true
		default:
			continue
		}
		killed++
	}
	switch {
	case !filter.Old:
		return resp.Int(killed)
	case killed == 0:
		return resp.ErrNoClient.Value()
	}
	return resp.OK()
}

func (s *session) meets(f args.KillFilter) bool {
	return (f.ID == 0 || f.ID == s.id) &&
		(f.Addr == "" || f.Addr == s.raw.RemoteAddr().String()) &&
		(f.Local == "" || f.Local == s.raw.LocalAddr().String()) &&
		(!f.ByType || f.Type == s.kind())
}

// clientUnblock answers CLIENT UNBLOCK: 1 when the connection waited in a command.
func clientUnblock(s *session, r *commands.Request) resp.Value {
	order := r.Opts.(args.Unblock)
	other := s.srv.byID(order.ID)
	return resp.BoolInt(other != nil && other.unblock(order.Error))
}

// help answers HELP of a container from the table.
func help(s *session, r *commands.Request) resp.Value {
	container, _, _ := strings.Cut(r.Spec.Name, "|")
	lines := commands.Help(s.find(container))
	elems := make([]resp.Value, len(lines))
	for i, line := range lines {
		elems[i] = resp.Status(line)
	}
	return resp.Arr(elems...)
}

// configSet accepts what is so already and what has no meaning here, so that clients that insist on a setting find
// it set; it changes nothing.
func configSet(s *session, r *commands.Request) resp.Value {
	known := s.srv.settings()
	for _, pair := range r.Opts.([][2]string) {
		name, value := pair[0], pair[1]
		at := slices.IndexFunc(known, func(k setting) bool { return k.name == name })
		switch {
		case slices.Contains(ignoredSettings, name), name == "notify-keyspace-events" && strings.Trim(value, "Ex") == "":
		case at < 0:
			return resp.UnknownSetting(name).Value()
		case !strings.EqualFold(known[at].value, value):
			return resp.FixedSetting(name).Value()
		}
	}
	return resp.OK()
}

// ignoredSettings are about records that are not kept.
var ignoredSettings = []string{"slowlog-log-slower-than", "slowlog-max-len", "latency-monitor-threshold"}

// configResetStat sets the counters of INFO to zero.
func configResetStat(s *session, _ *commands.Request) resp.Value {
	s.srv.stats.reset()
	return resp.OK()
}

func (s *stats) reset() {
	for _, counter := range []interface{ Store(int64) }{
		&s.connections, &s.rejected, &s.commands, &s.failures, &s.cutOff, &s.joined, &s.bytesIn, &s.bytesOut,
	} {
		counter.Store(0)
	}
}
