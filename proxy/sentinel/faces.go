package sentinel

import (
	"crypto/sha1"
	"encoding/hex"
	"net"
	"sync"
	"time"
)

// Config is what the faces of a process need.
type Config struct {
	Master string // the name that clients ask for
	Rules  Rules
}

// Faces is what the faces of a process have in common: they name the same master. Its methods are safe for concurrent use.
type Faces struct {
	cfg Config

	mu    sync.Mutex
	view  View
	named named
	since time.Time // when the named one was named
	now   time.Time // of the last look
}

// NewFaces returns faces that know of nobody yet.
func NewFaces(cfg Config) *Faces { return &Faces{cfg: cfg} }

// Event is what subscribers are told.
type Event struct{ Channel, Payload string }

// Look takes what is known now, and returns what subscribers are to be told
// (https://redis.io/docs/latest/operate/oss_and_stack/management/sentinel/#pubsub-messages).
func (f *Faces) Look(v View, now time.Time) []Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	was := f.named
	f.named = f.cfg.Rules.next(was, v, now)
	before := f.view
	f.view, f.now = v, now
	events := f.changes(before, v)
	if f.named.addr == was.addr {
		return events
	}
	f.since = now
	if was.addr == "" {
		return events
	}
	from, to := split(was.addr), split(f.named.addr)
	return append(events, Event{"+switch-master", f.cfg.Master + " " + from.String() + " " + to.String()})
}

// changes are the events about the other Sentinels.
func (f *Faces) changes(before, after View) (events []Event) {
	for _, m := range after.sorted() {
		old, known := before.member(m.ID)
		for _, addr := range m.Card.Faces {
			switch {
			case m.ID == after.Self:
			case !known:
				events = append(events, f.about("+sentinel", addr))
			case old.up() && !m.up():
				events = append(events, f.about("+sdown", addr))
			case !old.up() && m.up():
				events = append(events, f.about("-sdown", addr))
			}
		}
	}
	return events
}

// about is an event about a Sentinel: its kind, name and address, and then those of the master.
func (f *Faces) about(channel, addr string) Event {
	return Event{channel, "sentinel " + runID(addr) + " " + split(addr).String() + " @ " + f.cfg.Master + " " + split(f.named.addr).String()}
}

// Master returns the address of the master that is named, empty when nobody can be, and whether it is this process.
func (f *Faces) Master() (addr string, self bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.named.valid {
		return "", false
	}
	return f.named.addr, f.named.id == f.view.Self
}

// state is what the faces say now.
func (f *Faces) state() state {
	f.mu.Lock()
	defer f.mu.Unlock()
	return state{master: f.cfg.Master, named: f.named, view: f.view, since: f.now.Sub(f.since)}
}

// place is an address in the two parts that Sentinels give.
type place struct{ host, port string }

func (p place) String() string { return p.host + " " + p.port }

// split takes host:port apart; what is none has no port.
func split(addr string) place {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return place{addr, "0"}
	}
	return place{host, port}
}

// runID makes 40 hexadecimal digits of a name, as Redis has them. The same name has the same digits everywhere.
func runID(name string) string {
	sum := sha1.Sum([]byte(name))
	return hex.EncodeToString(sum[:])
}
