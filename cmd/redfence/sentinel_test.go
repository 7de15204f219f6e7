package main

import (
	"context"
	"crypto/x509"
	"io"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/proxy/sentinel"
)

func TestAnnouncedAddress(t *testing.T) {
	tests := []struct {
		name, told, listener, want string
	}{
		{"where it listens", "", "127.0.0.1:6380", "127.0.0.1:6380"},
		{"all interfaces", "", "0.0.0.0:6380", ""},
		{"told", "locks.example:7000", "0.0.0.0:6380", "locks.example:7000"},
		{"told without a port", "locks.example:0", "0.0.0.0:6380", "locks.example:6380"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			addr, err := net.ResolveTCPAddr("tcp", tt.listener)
			require.NoError(t, err)
			assert.Equal(t, tt.want, announced(tt.told, addr))
		})
	}
}

func TestFaceOnAllInterfacesHasTheAnnouncedHost(t *testing.T) {
	face := &net.TCPAddr{IP: net.IPv6unspecified, Port: 26379}
	assert.Equal(t, "locks.example:26379", reachable(face, "locks.example:6380"))
}

func TestCards(t *testing.T) {
	want := sentinel.Card{Data: "a:1", Faces: []string{"a:2", "a:3"}}
	assert.Equal(t, want, parseCard(`{"data":"a:1","faces":["a:2","a:3"],"later":{"x":1}}`))
	assert.Empty(t, parseCard("").Data, "of an earlier version")
	assert.Empty(t, parseCard("{").Data)
}

// A face takes connections as the server does: with TLS, and with the certificates that it asks for.
func TestFaceWithTLS(t *testing.T) {
	ours := newAuthority(t)
	ours.sign("server", &x509.Certificate{})
	cfg := defaultConfig()
	cfg.Mode, cfg.Listen, cfg.HTTPListen, cfg.DataDir = modeRaft, "127.0.0.1:0", "", t.TempDir()
	cfg.SentinelListen = []string{"127.0.0.1:0"}
	cfg.TLSCert, cfg.TLSKey = ours.path("server.pem"), ours.path("server.key")
	log, err := newLogger(cfg, io.Discard)
	require.NoError(t, err)
	n, err := openNode(cfg, log)
	require.NoError(t, err)
	defer n.close()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- n.run(ctx) }()
	defer func() { stop(); require.NoError(t, <-done) }()

	security, err := clientConfig{TLSCA: ours.path("ca.pem")}.tls()
	require.NoError(t, err)
	c := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: cfg.SentinelMaster, SentinelAddrs: []string{n.faces.listeners[0].Addr().String()}, TLSConfig: security,
	})
	defer c.Close()
	require.Eventually(t, func() bool { return c.SetNX(ctx, "lock", "me", time.Minute).Val() }, patience, 10*time.Millisecond)
	plain := redis.NewSentinelClient(&redis.Options{Addr: n.faces.listeners[0].Addr().String(), MaxRetries: -1})
	defer func() { _ = plain.Close() }()
	require.Error(t, plain.GetMasterAddrByName(ctx, cfg.SentinelMaster).Err())
}
