package proxy

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/proxy/hub"
)

// info answers INFO (https://redis.io/docs/latest/commands/info/): the sections asked for, or all.
func info(s *session, r *commands.Request) resp.Value {
	wanted := map[string]bool{}
	for _, name := range r.Args[1:] {
		wanted[strings.ToLower(name)] = true
	}
	all := len(wanted) == 0 || wanted["all"] || wanted["default"] || wanted["everything"]
	var parts []string
	for _, section := range s.srv.sections() {
		if all || wanted[strings.ToLower(section.name)] {
			lines := append([]string{"# " + section.name}, section.lines()...)
			parts = append(parts, strings.Join(lines, "\r\n")+"\r\n")
		}
	}
	return resp.Text(strings.Join(parts, "\r\n"))
}

// section is a part of INFO whose lines are made only when they are asked for.
type section struct {
	name  string
	lines func() []string
}

// sections are those of the front end and those of the backend.
func (s *Server) sections() []section {
	if s.cfg.Face != nil {
		return s.faceSections()
	}
	list := []section{
		{"Server", s.serverLines},
		{"Clients", s.clientsLines},
		{"Memory", memoryLines},
		{"Persistence", fixed("loading:0", "aof_enabled:0")},
		{"Stats", s.statsLines},
		{"Replication", s.replicationLines},
		{"CPU", cpuLines},
		{"Cluster", fixed("cluster_enabled:0")},
		{"Keyspace", fixed()},
	}
	for _, theirs := range s.cfg.Backend.Info() {
		list = merge(list, theirs)
	}
	if s.cfg.Upstream != nil {
		list = merge(list, s.cfg.Upstream.Info())
	}
	return list
}

func fixed(lines ...string) func() []string { return func() []string { return lines } }

// merge adds a section of the backend: behind the lines of the front end's section of that name, or as one of its
// own in front of Keyspace, which stands last.
func merge(list []section, theirs InfoSection) []section {
	for i, own := range list {
		if strings.EqualFold(own.name, theirs.Name) {
			list[i].lines = func() []string { return slices.Concat(own.lines(), theirs.Lines) }
			return list
		}
	}
	return slices.Insert(list, len(list)-1, section{theirs.Name, fixed(theirs.Lines...)})
}

func (s *Server) serverLines() []string {
	up := time.Since(s.began)
	return []string{
		"redis_version:" + commands.RedisVersion,
		"redis_mode:" + s.mode(),
		"redfence_version:" + s.cfg.Version,
		"os:" + runtime.GOOS + " " + runtime.GOARCH,
		fmt.Sprintf("arch_bits:%d", 32<<(^uint(0)>>63)),
		"go_version:" + runtime.Version(),
		fmt.Sprintf("process_id:%d", os.Getpid()),
		"run_id:" + s.cfg.RunID,
		fmt.Sprintf("tcp_port:%d", s.port()),
		fmt.Sprintf("server_time_usec:%d", s.cfg.Backend.Now()),
		fmt.Sprintf("uptime_in_seconds:%d", up/time.Second),
		fmt.Sprintf("uptime_in_days:%d", up/(24*time.Hour)),
	}
}

// port is the TCP port of one of the listeners, 0 when there is none.
func (s *Server) port() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.listeners {
		if addr, ok := l.Addr().(*net.TCPAddr); ok {
			return addr.Port
		}
	}
	return 0
}

func (s *Server) clientsLines() []string {
	all := s.all()
	subscribers := 0
	for _, ses := range all {
		if ses.kind() == args.PubSubClient {
			subscribers++
		}
	}
	return []string{
		fmt.Sprintf("connected_clients:%d", len(all)),
		fmt.Sprintf("maxclients:%d", s.cfg.MaxClients),
		fmt.Sprintf("blocked_clients:%d", s.blockedClients()),
		fmt.Sprintf("tracking_clients:%d", s.cfg.Tracking.Sizes().Sessions),
		fmt.Sprintf("pubsub_clients:%d", subscribers),
	}
}

// memoryLines tell what the process uses; the backend adds used_memory, which is what the keys take and what its limit
// is about.
func memoryLines() []string {
	used := sample("/memory/classes/heap/objects:bytes").Uint64()
	mapped, returned := sample("/memory/classes/total:bytes").Uint64(), sample("/memory/classes/heap/released:bytes").Uint64()
	return []string{
		fmt.Sprintf("used_memory_heap:%d", used),
		fmt.Sprintf("used_memory_rss:%d", mapped-returned),
		"maxmemory_policy:noeviction",
	}
}

// cpuLines tell the CPU time of the process in seconds (getrusage(2)).
func cpuLines() []string {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return nil
	}
	return []string{
		fmt.Sprintf("used_cpu_sys:%f", time.Duration(used.Stime.Nano()).Seconds()),
		fmt.Sprintf("used_cpu_user:%f", time.Duration(used.Utime.Nano()).Seconds()),
	}
}

// sample reads one figure of the Go runtime without stopping the world.
func sample(name string) metrics.Value {
	figure := []metrics.Sample{{Name: name}}
	metrics.Read(figure)
	return figure[0].Value
}

func (s *Server) statsLines() []string {
	h, tracked := s.cfg.Hub, s.cfg.Tracking.Sizes()
	return []string{
		fmt.Sprintf("total_connections_received:%d", s.stats.connections.Load()),
		fmt.Sprintf("total_commands_processed:%d", s.stats.commands.Load()),
		fmt.Sprintf("total_net_input_bytes:%d", s.stats.bytesIn.Load()),
		fmt.Sprintf("total_net_output_bytes:%d", s.stats.bytesOut.Load()),
		fmt.Sprintf("rejected_connections:%d", s.stats.rejected.Load()),
		fmt.Sprintf("client_output_buffer_limit_disconnections:%d", s.stats.cutOff.Load()),
		fmt.Sprintf("redfence_joined_resends:%d", s.stats.joined.Load()),
		fmt.Sprintf("redfence_taken_back:%d", s.resends.takeBacks.began.Load()),
		fmt.Sprintf("redfence_wakeups:%d", s.woken()),
		"evicted_keys:0",
		fmt.Sprintf("pubsub_channels:%d", h.Topics(hub.Channel)),
		fmt.Sprintf("pubsub_patterns:%d", h.Topics(hub.Pattern)),
		fmt.Sprintf("pubsubshard_channels:%d", h.Topics(hub.Shard)),
		fmt.Sprintf("tracking_total_keys:%d", tracked.Keys),
		fmt.Sprintf("tracking_total_items:%d", tracked.Items),
		fmt.Sprintf("tracking_total_prefixes:%d", tracked.Prefixes),
		fmt.Sprintf("total_error_replies:%d", s.stats.failures.Load()),
	}
}

// newRunID makes what Redis calls a run ID: 40 random hexadecimal digits.
func newRunID() string {
	var id [20]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}
