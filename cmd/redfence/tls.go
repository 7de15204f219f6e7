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
	if security.ClientCAs, err = loadAuthority(cfg.TLSCA); err != nil {
		return nil, err
	}
	security.ClientAuth = tls.RequireAndVerifyClientCert
	return security, nil
}

// loadAuthority reads the certificates of a PEM file.
func loadAuthority(path string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--tls-ca: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("--tls-ca %s holds no PEM certificate", path)
	}
	return pool, nil
}
