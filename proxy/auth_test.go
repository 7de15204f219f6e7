package proxy

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/commands/resp"
)

func TestAuthentication(t *testing.T) {
	noAuth, wrong := "-"+string(resp.ErrNoAuth), "-"+string(resp.ErrWrongPass)
	tests := map[string][][2]string{ // lines and the beginnings of their replies
		"nothing without it":         {{"GET a", noAuth}, {"PING", noAuth}, {"SUBSCRIBE a", noAuth}, {"CLIENT ID", noAuth}},
		"mistakes are told before":   {{"NOSUCH", "-ERR unknown command"}, {"GET", "-ERR wrong number"}},
		"options are told behind":    {{"SET a b NX XX", noAuth}},
		"AUTH":                       {{"AUTH wrong", wrong}, {"GET a", noAuth}, {"AUTH secret", "+OK"}, {"GET a", "$1 a"}},
		"AUTH with a user":           {{"AUTH default secret", "+OK"}, {"GET a", "$1 a"}},
		"AUTH of another user":       {{"AUTH other secret", wrong}, {"GET a", noAuth}},
		"a later failure is ignored": {{"AUTH secret", "+OK"}, {"AUTH wrong", wrong}, {"GET a", "$1 a"}},
		"HELLO":                      {{"HELLO", "-" + string(resp.ErrHelloNoAuth)}, {"GET a", noAuth}},
		"HELLO 3":                    {{"HELLO 3", "-" + string(resp.ErrHelloNoAuth)}, {"GET a", noAuth}},
		"HELLO AUTH":                 {{"HELLO 3 AUTH default secret SETNAME me", "%7"}, {"CLIENT GETNAME", "$2 me"}},
		"HELLO AUTH, wrong":          {{"HELLO 3 AUTH default wrong", wrong}, {"GET a", noAuth}},
		"RESET":                      {{"AUTH secret", "+OK"}, {"RESET", "+RESET"}, {"GET a", noAuth}},
		"QUIT":                       {{"QUIT", "+OK"}},
	}
	for name, lines := range tests {
		t.Run(name, func(t *testing.T) {
			_, addr := start(t, Config{Password: "secret"})
			c := dial(t, addr)
			for _, line := range lines {
				require.Contains(t, c.do(line[0])+"\n", line[1], line[0])
			}
		})
	}
}

func TestAnonymousClientsAreBoundedMore(t *testing.T) {
	_, addr := start(t, Config{Password: "secret"})
	c := dial(t, addr)
	c.send("*11\r\n")
	require.Equal(t, "-"+string(resp.ErrAnonymousArgs)+"\r\n", c.rest())
	c = dial(t, addr)
	c.send("AUTH secret\r\n" + array("DEL", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"))
	require.Equal(t, "+OK", c.next())
	require.Equal(t, "$2 10", c.next())
}

func TestTLS(t *testing.T) {
	srv, addr := start(t, Config{TLS: &tls.Config{Certificates: []tls.Certificate{selfSigned(t)}}})
	conn, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // the certificate is not the point
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	c := &client{Conn: conn, t: t, r: bufio.NewReader(conn)}
	require.Equal(t, "$1 b", c.do("SET a b"))
	require.Equal(t, "+OK", c.do("QUIT"))
	require.Empty(t, c.rest())

	plain := dial(t, addr) // no handshake: closed, with at most a TLS alert
	plain.send("PING\r\n")
	require.NotContains(t, plain.rest(), "PONG")
	require.Eventually(t, func() bool { return len(srv.all()) == 0 }, patience, time.Millisecond)
}

func selfSigned(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
