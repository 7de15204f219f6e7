package proxy

import (
	"net"
	"strconv"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

// Master tells which of several processes clients are to take for the master: its address, empty when nobody is known, and
// whether it is this process. It is called from all sessions at once.
type Master func() (addr string, self bool)

// replication is what this process says of its part: that it is the master, unless it is told that another one is. Every
// process serves all commands, whatever it says; those that look for a master among several addresses need one to be it.
type replication struct {
	master bool
	host   string // of the master when that is another process, empty when nobody knows who it is
	port   int64
}

func (s *Server) replication() replication {
	if s.cfg.Master == nil {
		return replication{master: true}
	}
	addr, self := s.cfg.Master()
	if self {
		return replication{master: true}
	}
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return replication{}
	}
	port, _ := strconv.ParseInt(text, 10, 64) // 0 for a port that has a name
	return replication{host: host, port: port}
}

// role answers ROLE: a master at offset 0 without replicas, or a replica
// (https://redis.io/docs/latest/commands/role/).
func role(s *session, _ *commands.Request) resp.Value {
	r := s.srv.replication()
	if r.master {
		return resp.Arr(resp.Str("master"), resp.Int(0), resp.Arr())
	}
	link := "connected"
	if r.host == "" {
		link = "connect"
	}
	return resp.Arr(resp.Str("slave"), resp.Str(r.host), resp.Int(r.port), resp.Str(link), resp.Int(0))
}

// replicationLines are those of INFO. A replica has no master link to tell of, but is as good as its master while there is one.
func (s *Server) replicationLines() []string {
	r := s.replication()
	if r.master {
		return []string{"role:master", "connected_slaves:0", "master_repl_offset:0"}
	}
	link := "up"
	if r.host == "" {
		link = "down"
	}
	return []string{
		"role:slave", "master_host:" + r.host, "master_port:" + strconv.FormatInt(r.port, 10), "master_link_status:" + link,
		"slave_repl_offset:0", "slave_read_only:0", "connected_slaves:0", "master_repl_offset:0",
	}
}

// helloRole is the role in the reply to HELLO, which has another word for a replica.
func (s *Server) helloRole() string {
	if s.replication().master {
		return "master"
	}
	return "replica"
}
