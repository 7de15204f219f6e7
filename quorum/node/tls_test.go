package node

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
)

// certificate writes a certificate for 127.0.0.1 and its key into files, and returns a pool that trusts it.
func certificate(t *testing.T) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(t.TempDir(), "cert"), filepath.Join(t.TempDir(), "key")
	pool = x509.NewCertPool()
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	pool.AppendCertsFromPEM(text)
	for file, content := range map[string][]byte{cert: text, key: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key, pool
}

func TestTLS(t *testing.T) {
	cert, key, pool := certificate(t)
	probe := startRelay(t, "127.0.0.1:1") // finds a free port
	_, port, err := net.SplitHostPort(probe.addr())
	if err != nil {
		t.Fatal(err)
	}
	_ = probe.listener.Close()
	server := harness.StartRedis(t, "--requirepass", "pw", "--tls-port", port, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-auth-clients", "no", "--tls-ca-cert-file", cert)
	harness.Dial(t, server.Addr).Want("OK", "AUTH", "pw")
	url := "rediss://:pw@127.0.0.1:" + port
	n := openNode(t, server.Addr, func(o *Options) {
		o.URL, o.DialTimeout, o.TLS = url, patience, &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	})
	wantReply(t, n, "SET k v", "OK")
	wantReply(t, n, "GET k", "v")
	stranger := openNode(t, server.Addr, func(o *Options) { o.URL, o.DialTimeout = url, patience })
	wantOutcome(t, begin(stranger, command("GET k"), nil), "certificate not accepted", false)
}
