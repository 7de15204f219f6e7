package sentinel

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/proxy"
)

// Face is one address that answers as a Sentinel. It implements proxy.Face.
type Face struct {
	faces *Faces
	addr  string // host:port by which others know it
	table *commands.Table
}

var _ proxy.Face = (*Face)(nil)

// Face returns the face at an address.
func (f *Faces) Face(addr string) *Face {
	return &Face{faces: f, addr: addr, table: commands.SentinelTable()}
}

// Mode implements proxy.Face.
func (*Face) Mode() string { return "sentinel" }

// Table implements proxy.Face.
func (f *Face) Table() *commands.Table { return f.table }

// Answers implements proxy.Face.
func (*Face) Answers() []string { return []string{"role", "publish"} }

// Answer implements proxy.Face.
func (f *Face) Answer(r *commands.Request) resp.Value {
	st := f.faces.state()
	switch name := strings.TrimPrefix(r.Spec.Name, "sentinel|"); name {
	case "role":
		return resp.Arr(resp.Str("sentinel"), resp.Strs(st.master))
	case "publish":
		return resp.ErrSentinelPublish.Value()
	case "masters":
		return resp.Arr(st.describeMaster())
	case "myid":
		return resp.Str(runID(f.addr))
	case "pending-scripts", "info-cache":
		return resp.Arr()
	case "is-master-down-by-addr":
		return resp.Arr(resp.Int(0), resp.Str("*"), resp.Int(0))
	case "get-master-addr-by-name":
		return st.address(r.Args[2])
	default:
		if r.Args[2] != st.master {
			return resp.ErrNoSuchMaster.Value()
		}
		return f.about(st, name)
	}
}

// about answers a question about the master by its name.
func (f *Face) about(st state, name string) resp.Value {
	switch name {
	case "master":
		return st.describeMaster()
	case "sentinels":
		return st.describeOthers(f.addr)
	case "ckquorum":
		return st.checkQuorum()
	case "failover":
		return resp.ErrNoFailover.Value()
	default: // replicas, slaves
		return resp.Arr()
	}
}

// Info implements proxy.Face.
func (f *Face) Info() proxy.InfoSection {
	st := f.faces.state()
	status := "ok"
	if !st.named.valid {
		status = "odown"
	}
	addr := st.named.addr
	if addr == "" {
		addr = "?"
	}
	return proxy.InfoSection{Name: "Sentinel", Lines: []string{
		"sentinel_masters:1",
		"sentinel_tilt:0",
		"sentinel_running_scripts:0",
		"sentinel_scripts_queue_length:0",
		"sentinel_simulate_failure_flags:0",
		fmt.Sprintf("master0:name=%s,status=%s,address=%s,slaves=0,sentinels=%d", st.master, status, addr, len(st.faces())),
	}}
}

// state is what the faces of a process say at a moment.
type state struct {
	master string
	named  named
	view   View
	since  time.Duration // for how long the named one has been
}

// address answers GET-MASTER-ADDR-BY-NAME: null for a name that is not known, and an error when nobody can be named, by which
// clients go on to the next Sentinel.
func (s state) address(name string) resp.Value {
	switch {
	case name != s.master:
		return resp.Value{Kind: resp.NullArray}
	case !s.named.valid:
		return resp.ErrNoMasterNow.Value()
	}
	at := split(s.named.addr)
	return resp.Strs(at.host, at.port)
}

// listed is a face among those of all members.
type listed struct {
	addr   string
	member Member
}

// faces are those of all members.
func (s state) faces() (list []listed) {
	for _, m := range s.view.sorted() {
		for _, addr := range m.Card.Faces {
			list = append(list, listed{addr, m})
		}
	}
	return list
}

// usable is how many faces are of members that were heard of lately.
func (s state) usable() int {
	n := 0
	for _, f := range s.faces() {
		if f.member.up() {
			n++
		}
	}
	return n
}

// quorum is how many faces are more than half of them.
func (s state) quorum() int { return len(s.faces())/2 + 1 }

// checkQuorum answers CKQUORUM in the words of Redis, by which monitoring tells.
func (s state) checkQuorum() resp.Value {
	if usable := s.usable(); usable < s.quorum() || !s.named.valid {
		return resp.NoSentinelQuorum(usable).Value()
	}
	return resp.Status(fmt.Sprintf("OK %d usable Sentinels. Quorum and failover authorization can be reached", s.usable()))
}

// describeMaster has the fields of sentinel.c, addReplySentinelRedisInstance. A master that cannot be named is down: so say
// real Sentinels, and so clients read it that ask for the list.
func (s state) describeMaster() resp.Value {
	at := split(s.named.addr)
	flags, silent := "master", "0"
	if !s.named.valid {
		flags, silent = "s_down,o_down,master,disconnected", strconv.FormatInt(downAfter.Milliseconds(), 10)
	}
	words := append(opening("name", s.master, at, runID(s.named.id), flags),
		"last-ping-sent", "0", "last-ok-ping-reply", silent, "last-ping-reply", silent,
		"down-after-milliseconds", millis(downAfter), "info-refresh", "0",
		"role-reported", "master", "role-reported-time", millis(s.since),
		"config-epoch", strconv.FormatUint(s.named.epoch, 10),
		"num-slaves", "0", "num-other-sentinels", strconv.Itoa(max(0, len(s.faces())-1)),
		"quorum", strconv.Itoa(s.quorum()), "failover-timeout", "180000", "parallel-syncs", "1")
	return pairs(words)
}

// describeOthers describes all faces but the one that is asked.
func (s state) describeOthers(asked string) resp.Value {
	others := slices.DeleteFunc(s.faces(), func(f listed) bool { return f.addr == asked })
	list := make([]resp.Value, len(others))
	for i, f := range others {
		flags := "sentinel"
		if !f.member.up() {
			flags = "s_down,sentinel,disconnected"
		}
		silent := millis(f.member.Silent)
		id := runID(f.addr)
		list[i] = pairs(append(opening("name", id, split(f.addr), id, flags),
			"last-ping-sent", "0", "last-ok-ping-reply", silent, "last-ping-reply", silent,
			"down-after-milliseconds", millis(downAfter), "last-hello-message", silent,
			"voted-leader", "?", "voted-leader-epoch", "0"))
	}
	return resp.Arr(list...)
}

// opening are the fields that every description begins with.
func opening(key, name string, at place, id, flags string) []string {
	return []string{
		key, name, "ip", at.host, "port", at.port, "runid", id, "flags", flags,
		"link-pending-commands", "0", "link-refcount", "1",
	}
}

// pairs is a map in RESP3 and a flat array in RESP2.
func pairs(words []string) resp.Value {
	list := make([]resp.Value, len(words))
	for i, word := range words {
		list[i] = resp.Str(word)
	}
	return resp.MapOf(list...)
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
