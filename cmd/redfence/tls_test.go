package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// authority signs certificates for 127.0.0.1 in a directory of PEM files: ca.pem, and NAME.pem with NAME.key.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir()}
	a.cert, a.key = a.sign("ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

func (a *authority) path(file string) string { return filepath.Join(a.dir, file) }

// sign writes NAME.pem and NAME.key. The first certificate signs itself.
func (a *authority) sign(name string, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.Subject = pkix.Name{CommonName: name}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	require.NoError(a.t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(a.t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(a.t, err)
	a.write(name+".pem", "CERTIFICATE", der)
	a.write(name+".key", "PRIVATE KEY", secret)
	return cert, key
}

func (a *authority) write(file, kind string, der []byte) {
	a.t.Helper()
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	require.NoError(a.t, os.WriteFile(a.path(file), text, 0o600))
}

// handshake connects the two ends over a real connection and returns both ends' errors.
func handshake(t *testing.T, server, client *tls.Config) (serverErr, clientErr error) {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", server)
	require.NoError(t, err)
	defer l.Close()
	done := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			defer conn.Close()
			err = conn.(*tls.Conn).Handshake()
		}
		done <- err
	}()
	conn, clientErr := tls.Dial("tcp", l.Addr().String(), client)
	if conn != nil {
		defer conn.Close()
	}
	return <-done, clientErr
}

func TestTLS(t *testing.T) {
	t.Parallel()
	ours, theirs := newAuthority(t), newAuthority(t)
	ours.sign("server", &x509.Certificate{})
	ours.sign("client", &x509.Certificate{})
	theirs.sign("client", &x509.Certificate{})
	open := Config{TLSCert: ours.path("server.pem"), TLSKey: ours.path("server.key")}
	mutual := open
	mutual.TLSCA = ours.path("ca.pem")

	tests := []struct {
		name    string
		server  Config
		client  clientConfig
		refused bool
	}{
		{"server certificate only", open, clientConfig{TLSCA: ours.path("ca.pem")}, false},
		{"server of another authority", open, clientConfig{TLSCA: theirs.path("ca.pem")}, true},
		{"client without a certificate", mutual, clientConfig{TLSCA: ours.path("ca.pem")}, true},
		{"client with its certificate", mutual, clientConfig{
			TLSCA: ours.path("ca.pem"), TLSCert: ours.path("client.pem"), TLSKey: ours.path("client.key"),
		}, false},
		{"client of another authority", mutual, clientConfig{
			TLSCA: ours.path("ca.pem"), TLSCert: theirs.path("client.pem"), TLSKey: theirs.path("client.key"),
		}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server, err := serverTLS(tt.server)
			require.NoError(t, err)
			client, err := tt.client.tls()
			require.NoError(t, err)
			serverErr, _ := handshake(t, server, client)
			assert.Equal(t, tt.refused, serverErr != nil, "%v", serverErr)
		})
	}
}

func TestNoCertificateMeansNoTLS(t *testing.T) {
	t.Parallel()
	server, err := serverTLS(Config{})
	require.NoError(t, err)
	assert.Nil(t, server)
	client, err := clientConfig{}.tls()
	require.NoError(t, err)
	assert.Nil(t, client)
}

func TestUnreadableCertificatesAreNamed(t *testing.T) {
	t.Parallel()
	ours := newAuthority(t)
	_, err := serverTLS(Config{TLSCert: "none.pem", TLSKey: "none.key"})
	require.ErrorContains(t, err, "none.pem")
	_, err = serverTLS(Config{TLSCert: ours.path("ca.pem"), TLSKey: ours.path("ca.key"), TLSCA: ours.path("ca.key")})
	assert.ErrorContains(t, err, "holds no PEM certificate")
}
