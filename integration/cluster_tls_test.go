package integration

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
)

// TestMembersWithCertificates forms a cluster over mutual TLS, changes its leader, and refuses a member whose certificate is
// of another authority.
func TestMembersWithCertificates(t *testing.T) {
	c := harness.NewCluster(t, 3, certificates(t)...)
	c.Start()
	voters(t, c.Members[0], 3)
	token, _ := askLeader(t, c, "SET", "lock", "me", "NX", "PX", "600000", "FENCE").Int()
	old := c.Leader()
	c.Members[old].Kill()
	if got, _ := askLeader(t, c, "FENCE", "lock", "me").Int(); got != token || token == 0 {
		t.Errorf("token %d, want %d", got, token)
	}
	stranger := c.Prepare(old, t.TempDir(), certificates(t)...)
	stranger.Launch()
	harness.Eventually(t, clusterPatience, func() bool { return strings.Contains(stranger.Stderr(), "certificate") })
	if st := statusOf(t, c.Members[c.Leader()]); len(st.Members.Members) != 3 {
		t.Errorf("members %+v", st.Members)
	}
	stranger.Kill()
	c.Members[old].Start()
	voters(t, c.Members[old], 3)
}

// certificates are the flags of members that have a certificate for 127.0.0.1 of an authority of their own.
func certificates(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	authority := &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	signer := certify(t, dir, "authority", authority, authority, nil)
	member := &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	certify(t, dir, "member", member, authority, signer)
	return []string{
		"--raft-tls-cert", filepath.Join(dir, "member.crt"), "--raft-tls-key", filepath.Join(dir, "member.key"),
		"--raft-tls-ca", filepath.Join(dir, "authority.crt"),
	}
}

// certify writes a certificate and its key into dir, and returns the key; without a signer it signs itself.
func certify(t *testing.T, dir, name string, template, parent *x509.Certificate, signer *ecdsa.PrivateKey) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if signer == nil {
		signer = key
	}
	template.SerialNumber, template.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: name}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{
		name + ".crt": {Type: "CERTIFICATE", Bytes: der},
		name + ".key": {Type: "EC PRIVATE KEY", Bytes: secret},
	} {
		if err := os.WriteFile(filepath.Join(dir, file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return key
}
