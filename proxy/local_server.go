package proxy

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/glob"
	"github.com/redfence/redfence/commands/resp"
)

func clock(s *session, _ *commands.Request) resp.Value {
	return commands.TimeReply(s.srv.cfg.Backend.Now())
}

// waitReplicas answers WAIT with the number asked for. Replies keep their order and are given only when what they report is
// committed, so there is nothing left to wait for.
func waitReplicas(_ *session, r *commands.Request) resp.Value { return resp.Int(r.Opts.(int64)) }

func waitAOF(_ *session, r *commands.Request) resp.Value {
	d := r.Opts.(args.Durability)
	return resp.Arr(resp.Int(d.Local), resp.Int(d.Replicas))
}

// configGet answers CONFIG GET with those of the settings that clients look for. As in Redis, a name that was asked
// for in full is answered in the spelling of the question.
func configGet(s *session, r *commands.Request) resp.Value {
	var pairs []resp.Value
	for _, setting := range s.srv.settings() {
		asked := slices.IndexFunc(r.Args[2:], func(pattern string) bool {
			return glob.Match(strings.ToLower(pattern), setting.name)
		})
		if asked < 0 {
			continue
		}
		name := setting.name
		if pattern := r.Args[2+asked]; strings.EqualFold(pattern, name) {
			name = pattern
		}
		pairs = append(pairs, resp.Str(name), resp.Str(setting.value))
	}
	return resp.MapOf(pairs...)
}

type setting struct{ name, value string }

// settings are the ones of Redis that have a meaning here, in the values that Redis would show for what holds here:
// every reply is on disk, nothing is evicted.
func (s *Server) settings() []setting {
	c := s.cfg
	return []setting{
		{"appendfsync", "always"},
		{"appendonly", "no"},
		{"databases", strconv.Itoa(args.Databases)},
		{"maxclients", strconv.Itoa(c.MaxClients)},
		{"maxmemory", s.maxMemory()},
		{"maxmemory-policy", "noeviction"},
		{"notify-keyspace-events", ""},
		{"proto-max-bulk-len", strconv.Itoa(c.MaxBulk)},
		{"replica-read-only", "yes"},
		{"requirepass", ""},
		{"save", ""},
		{"slave-read-only", "yes"},
		{"tcp-keepalive", "15"},
		{"timeout", strconv.Itoa(int(c.IdleTimeout / time.Second))},
	}
}

// maxMemory is the backend's limit as it stands in its INFO, in bytes; 0 for none.
func (s *Server) maxMemory() string {
	for _, section := range s.cfg.Backend.Info() {
		for _, line := range section.Lines {
			if value, ok := strings.CutPrefix(line, "maxmemory:"); ok {
				return value
			}
		}
	}
	return "0"
}

// scriptDebug answers SCRIPT DEBUG (https://redis.io/docs/latest/commands/script-debug/): there is only no debugger.
// In a transaction Redis refuses it in every mode.
func scriptDebug(s *session, r *commands.Request) resp.Value {
	if s.multi.Load() != 0 {
		return resp.ErrDebugPipeline.Value()
	}
	switch strings.ToLower(r.Args[2]) {
	case "no":
		return resp.OK()
	case "yes", "sync":
		return resp.ErrNoDebugger.Value()
	default:
		return resp.ErrDebugMode.Value()
	}
}
