package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// serverTLS builds what clients meet: nil without a certificate; with an authority, clients must show a
// certificate that it signed.
func serverTLS(cfg Config) (*tls.Config, error) {
	if cfg.TLSCert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(cfg.TLSCert, cfg.TLSKey)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert and --tls-key: %w", err)
	}
	security := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	if cfg.TLSCA == "" {
		return security, nil
	}
	if security.ClientCAs, err = loadAuthority("tls-ca", cfg.TLSCA); err != nil {
		return nil, err
	}
	security.ClientAuth = tls.RequireAndVerifyClientCert
	return security, nil
}

// memberTLS builds what members use with each other, each as server and as client: nil without a certificate.
func memberTLS(cfg Config) (*tls.Config, error) {
	if cfg.RaftTLSCert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(cfg.RaftTLSCert, cfg.RaftTLSKey)
	if err != nil {
		return nil, fmt.Errorf("--raft-tls-cert and --raft-tls-key: %w", err)
	}
	members, err := loadAuthority("raft-tls-ca", cfg.RaftTLSCA)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair},
		RootCAs: members, ClientCAs: members, ClientAuth: tls.RequireAndVerifyClientCert,
	}, nil
}

// loadAuthority reads the certificates of a flag's PEM file.
func loadAuthority(flag, path string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("--%s %s holds no PEM certificate", flag, path)
	}
	return pool, nil
}
