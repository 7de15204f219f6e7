package integration

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/integration/harness"
)

// faceModes are the deployments whose members answer as Sentinels.
var faceModes = []struct {
	name  string
	start func(t testing.TB, args ...string) *harness.Faces
}{
	{"raft", harness.StartFaceCluster},
	{"quorum", harness.StartFaceProxies},
}

// fieldsOf are the pairs of a description.
func fieldsOf(r harness.Reply) map[string]string {
	fields := map[string]string{}
	for i := 0; i+1 < len(r.Elems); i += 2 {
		fields[r.Elems[i].Text] = r.Elems[i+1].Text
	}
	return fields
}

// TestSentinelFaces shows that all faces name the same master and list each other, that the master moves when the named member
// is killed, that subscribers are told, and that the member that comes back is no reason to move again.
func TestSentinelFaces(t *testing.T) {
	for _, mode := range faceModes {
		t.Run(mode.name, func(t *testing.T) {
			f := mode.start(t)
			named := f.Named()
			faces := 2 * len(f.Members)
			for i, sentinel := range f.Sentinels {
				c := harness.Dial(t, sentinel)
				harness.Eventually(t, clusterPatience, func() bool {
					return len(c.Do("SENTINEL", "SENTINELS", "mymaster").Elems) == faces-1
				})
				master := fieldsOf(c.Do("SENTINEL", "MASTER", "mymaster"))
				assert.Equal(t, f.Members[named].Addr, master["ip"]+":"+master["port"], "face %d", i)
				assert.Equal(t, "master", master["flags"])
				assert.Contains(t, c.Do("SENTINEL", "CKQUORUM", "mymaster").Text, "OK")
				assert.Empty(t, c.Do("SENTINEL", "REPLICAS", "mymaster").Elems)
			}
			other := (named + 1) % len(f.Members)
			sub := harness.Dial(t, f.Sentinels[other])
			sub.Do("SUBSCRIBE", "+switch-master")
			old := f.Members[named].Addr
			f.Members[named].Kill()
			next := f.Named()
			assert.NotEqual(t, named, next)
			message := sub.Receive()
			assert.Equal(t, "mymaster "+spaced(old)+" "+spaced(f.Members[next].Addr), message.Elems[2].Text)
			f.Members[named].Start()
			assert.Equal(t, next, f.Named(), "the master moved when the old one came back")
		})
	}
}

func spaced(addr string) string { return strings.ReplaceAll(addr, ":", " ") }

// TestSentinelFacesAfterAStop shows that a member that stops in order is replaced at once, and that the one that is named
// serves when it is named.
func TestSentinelFacesAfterAStop(t *testing.T) {
	for _, mode := range faceModes {
		t.Run(mode.name, func(t *testing.T) {
			f := mode.start(t)
			named := f.Named()
			began := time.Now()
			assert.Zero(t, f.Members[named].Stop())
			next := f.Named()
			assert.Equal(t, "OK", harness.Dial(t, f.Members[next].Addr).Do("SET", "lock", "me", "NX", "PX", "60000").Text)
			t.Logf("named after %v", time.Since(began))
		})
	}
}

// TestSentinelMastersLooksAsInRedis compares what redis-cli prints of a face and of a real Sentinel: the same names in the same order.
func TestSentinelMastersLooksAsInRedis(t *testing.T) {
	cli, err := exec.LookPath("redis-cli")
	if err != nil {
		t.Skip("skipped: redis-cli is not installed")
	}
	names := func(sentinel string) (names []string) {
		host, port, _ := strings.Cut(sentinel, ":")
		out, err := exec.Command(cli, "-h", host, "-p", port, "sentinel", "masters").CombinedOutput()
		require.NoError(t, err, "%s", out)
		for i, line := range strings.Split(string(out), "\n") {
			if i%2 == 0 {
				names = append(names, line)
			}
		}
		return names
	}
	sentinel := harness.StartSentinels(t, harness.StartRedis(t), 1)[0]
	face := harness.StartFaceProxies(t)
	face.Named()
	want := names(sentinel.Addr)
	assert.Contains(t, want, "num-other-sentinels")
	assert.Equal(t, want, names(face.Sentinels[0]))
}

// TestSentinelFaceWithAPassword shows that a face asks for the password of the server.
func TestSentinelFaceWithAPassword(t *testing.T) {
	f := harness.StartFaceProxies(t, "--password", "secret")
	c := harness.Dial(t, f.Sentinels[0])
	assert.Contains(t, c.Do("SENTINEL", "MASTERS").Text, "NOAUTH")
	assert.Equal(t, "OK", c.Do("AUTH", "secret").Text)
	harness.Eventually(t, clusterPatience, func() bool {
		return c.Do("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster").Kind == '*'
	})
}
