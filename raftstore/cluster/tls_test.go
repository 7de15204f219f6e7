package cluster

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"log/slog"
	"math/big"
	"net"
	"testing"
	"time"
)

// authority signs certificates of members for localhost and 127.0.0.1.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	a.cert, a.key = a.sign(t, &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

// sign makes a certificate; the first one signs itself.
func (a *authority) sign(t *testing.T, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber, template.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: "test"}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	template.IPAddresses, template.DNSNames = []net.IP{net.IPv4(127, 0, 0, 1)}, []string{"localhost"}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

// member is the configuration of a member: its own certificate, and trust in the authority alone.
func (a *authority) member(t *testing.T) *tls.Config {
	t.Helper()
	cert, key := a.sign(t, &x509.Certificate{})
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return &tls.Config{
		MinVersion: tls.VersionTLS13, RootCAs: pool, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
		Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}},
	}
}

func TestMembersKnowEachOtherByCertificate(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	stranger := ours.member(t)
	stranger.Certificates = nil
	tests := []struct {
		name   string
		dialer *tls.Config
		wanted bool
	}{
		{"a member", ours.member(t), true},
		{"of another authority", theirs.member(t), false},
		{"without a certificate", stranger, false},
		{"without TLS", nil, false},
	}
	server := openTLS(t, "b-1", ours.member(t))
	_, port, err := net.SplitHostPort(server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			conn, err := openTLS(t, "a-1", tt.dialer).DialMember(ctx, net.JoinHostPort("localhost", port), "b-1", Forward)
			if (err == nil) != tt.wanted {
				t.Fatalf("error %v, welcome %v", err, tt.wanted)
			}
			if err == nil {
				defer conn.Close()
				echoes(t, conn)
			}
		})
	}
}

func openTLS(t *testing.T, id string, security *tls.Config) *TCP {
	t.Helper()
	p, err := Listen(Config{
		Listen: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler), TLS: security,
		Self: func() Self { return Self{ID: id, Cluster: "X"} },
	})
	if err != nil {
		t.Fatal(err)
	}
	echo(p)
	t.Cleanup(func() { _ = p.Close() })
	return p
}
