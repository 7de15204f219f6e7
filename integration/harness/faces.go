package harness

import (
	"regexp"
	"slices"
	"testing"
)

// Faces are redfence processes that answer as Sentinels, a cluster of raft mode or proxies of quorum mode.
type Faces struct {
	Members   []*Server
	Sentinels []string // host:port of the first address of each member
	t         testing.TB
}

// twoFaces give a member two addresses that answer as Sentinels.
const twoFaces = "127.0.0.1:0,127.0.0.1:0"

// StartFaceCluster runs a Raft cluster of three members with faces.
func StartFaceCluster(t testing.TB, args ...string) *Faces {
	t.Helper()
	f := &Faces{t: t}
	f.Members = StartCluster(t, 3, append(args, "--sentinel-listen", twoFaces)...).Members
	f.pin()
	return f
}

// StartFaceProxies runs two proxies with faces over three nodes.
func StartFaceProxies(t testing.TB, args ...string) *Faces {
	t.Helper()
	f := &Faces{t: t}
	nodes := []*Server{StartRedis(t), StartRedis(t), StartRedis(t)}
	for range 2 {
		m := StartProxy(t, nodes, append(args, "--sentinel-listen", twoFaces)...).Server
		m.Pin()
		f.Members = append(f.Members, m)
	}
	f.pin()
	return f
}

// pin learns where the faces listen, and makes the members use the same addresses when they start again.
func (f *Faces) pin() {
	f.t.Helper()
	for _, m := range f.Members {
		found := faceLine.FindAllStringSubmatch(m.Stderr(), -1)
		if len(found) != 2 {
			f.t.Fatalf("%d faces in the output of %s:\n%s", len(found), m.name, m.Stderr())
		}
		f.Sentinels = append(f.Sentinels, found[0][1])
		m.argv[slices.Index(m.argv, twoFaces)] = found[0][1] + "," + found[1][1]
	}
}

// faceLine is what a member logs of each face.
var faceLine = regexp.MustCompile(`answering as a Sentinel.*"listen": "([^"]+)"`)

// Named waits until the faces of all running members name the same running member, and returns its place.
func (f *Faces) Named() int {
	f.t.Helper()
	at := -1
	Eventually(f.t, formTimeout, func() bool {
		at = f.agreed()
		return at >= 0
	})
	return at
}

// agreed is the place of the member that all running faces name, or -1.
func (f *Faces) agreed() int {
	named := ""
	for i, m := range f.Members {
		if !m.Running() {
			continue
		}
		addr := MasterOf(f.Sentinels[i])
		if addr == "" || named != "" && addr != named {
			return -1
		}
		named = addr
	}
	for i, m := range f.Members {
		if m.Running() && m.Addr == named {
			return i
		}
	}
	return -1
}

// MasterOf asks a Sentinel for the address of mymaster; empty when it does not tell.
func MasterOf(sentinel string) string {
	w, err := Open(sentinel)
	if err != nil {
		return ""
	}
	defer w.Close() //nolint:errcheck // it has answered
	r, err := w.Do("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster")
	if err != nil || len(r.Elems) != 2 {
		return ""
	}
	return r.Elems[0].Text + ":" + r.Elems[1].Text
}
