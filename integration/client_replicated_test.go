package integration

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/redfence/redfence/cmd/redfence/demo"
	"github.com/redfence/redfence/integration/harness"
)

// addresses are those at which clients lock, of all members.
func addresses(f *harness.Faces) string {
	all := make([]string, len(f.Members))
	for i, m := range f.Members {
		all[i] = m.Addr
	}
	return strings.Join(all, ",")
}

// startReplicated starts members that say which of them is the master, and waits until all say the same.
func startReplicated(t *testing.T, start func(testing.TB, ...string) *harness.Faces) *harness.Faces {
	t.Helper()
	faces := start(t, "--replica-roles")
	faces.Named()
	return faces
}

// TestOneMemberIsTheMaster asks all members for their role before and after the one that is the master was killed.
func TestOneMemberIsTheMaster(t *testing.T) {
	for backend, start := range facesOn {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			faces := startReplicated(t, start)
			named := faces.Named()
			harness.Eventually(t, clusterPatience, func() bool { return onlyMaster(faces, named) })
			faces.Members[named].Kill()
			next := faces.Named()
			harness.Eventually(t, clusterPatience, func() bool { return onlyMaster(faces, next) })
			faces.Members[named].Start()
			harness.Eventually(t, clusterPatience, func() bool { return onlyMaster(faces, next) })
		})
	}
}

// onlyMaster tells whether a member calls itself the master, and all others that run name it.
func onlyMaster(f *harness.Faces, at int) bool {
	for i, m := range f.Members {
		want := "[\"slave\", " + hostAndPort(f.Members[at].Addr) + ", \"connected\", (integer) 0]"
		if i == at {
			want = `["master", (integer) 0, []]`
		}
		if m.Running() && roleOf(m.Addr) != want {
			return false
		}
	}
	return true
}

// hostAndPort is host:port as the reply to ROLE has it.
func hostAndPort(addr string) string {
	host, port, _ := strings.Cut(addr, ":")
	return `"` + host + `", (integer) ` + port
}

func roleOf(addr string) string {
	w, err := harness.Open(addr)
	if err != nil {
		return ""
	}
	defer w.Close() //nolint:errcheck // it has answered
	r, err := w.Do("ROLE")
	if err != nil {
		return ""
	}
	return r.String()
}

// TestClientsOfReplicatedAddresses runs Redisson with the addresses of all members, of which it looks for the one that is the
// master (useReplicatedServers), with its oldest version and its newest.
func TestClientsOfReplicatedAddresses(t *testing.T) {
	onlyInLongRun(t)
	programs := buildClients(t)
	for backend, start := range facesOn {
		t.Run(backend+"/redisson", func(t *testing.T) {
			t.Parallel()
			programs.need(t, "redisson")
			runClient(t, redissonCases, java("LockSuite", "--replicated", addresses(startReplicated(t, start)))...)
		})
		for _, r := range olderRedissons {
			t.Run(backend+"/"+r.name, func(t *testing.T) {
				t.Parallel()
				programs.need(t, r.program)
				runClient(t, r.cases(), r.command("--replicated", addresses(startReplicated(t, start)))...)
			})
		}
	}
}

// TestReplicatedMasterIsKilledUnderRedisson kills the member that is the master while one user holds a lock and another waits.
func TestReplicatedMasterIsKilledUnderRedisson(t *testing.T) {
	onlyInLongRun(t)
	buildClients(t).need(t, "redisson")
	teller := storyteller{"redisson", func(addrs, key string) []string { return java("Failover", "--replicated", addrs, "--key", key) }}
	for backend, start := range facesOn {
		t.Run(backend, func(t *testing.T) {
			faces := startReplicated(t, start)
			s := teller.begin(t, &demo.World{Sentinels: strings.Split(addresses(faces), ",")})
			s.exchange("connected", "lock")
			assert.Equal(t, "held", s.hears())
			faces.Members[faces.Named()].Kill()
			faces.Named()
			s.tell("failed")
			s.exchange("alice 1", "watched")
			s.exchange("bob waits", "release")
			assert.Equal(t, "released 1", s.hears())
			assert.Equal(t, "bob got", s.hears())
		})
	}
}

// exchange waits for a line and then gives an order.
func (s *story) exchange(line, order string) {
	s.t.Helper()
	assert.Equal(s.t, line, s.hears())
	s.tell(order)
}
