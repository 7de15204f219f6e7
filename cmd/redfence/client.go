package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// clientTimeout bounds one question to a server, dialling included.
const clientTimeout = 5 * time.Second

// clientConfig says which server the subcommands ask, with the same sources as the server's own configuration.
type clientConfig struct {
	Addr     string `mapstructure:"addr"`
	Password string `mapstructure:"password"`
	TLSCA    string `mapstructure:"tls-ca"`
	TLSCert  string `mapstructure:"tls-cert"`
	TLSKey   string `mapstructure:"tls-key"`
	JSON     bool   `mapstructure:"json"`
}

// addClientFlags declares the flags that subcommands share. In one with the server's list, a name that is
// already there keeps its meaning.
func addClientFlags(fs *pflag.FlagSet) {
	client := pflag.NewFlagSet("", pflag.ContinueOnError)
	client.String("addr", defaultConfig().Listen, "server to ask, host:port")
	client.String("password", "", "password of the server; better given as REDFENCE_PASSWORD")
	client.String("tls-ca", "", "certificate authority file (PEM) that signed the server's certificate; turns TLS on")
	client.String("tls-cert", "", "certificate file (PEM) to show to a server that asks for one")
	client.String("tls-key", "", "key file (PEM) of --tls-cert")
	fs.AddFlagSet(client)
}

// ask runs question against the server that the command's flags name.
func ask(cmd *cobra.Command, question func(context.Context, *redis.Client, clientConfig) error) error {
	var cfg clientConfig
	if err := load(cmd.Flags(), &cfg); err != nil {
		return err
	}
	if err := address("addr", cfg.Addr); err != nil {
		return err
	}
	if err := validateTLS("", cfg.TLSCert, cfg.TLSKey, ""); err != nil {
		return err
	}
	return failed(cfg.connect(cmd.Context(), question))
}

func (c clientConfig) connect(ctx context.Context, question func(context.Context, *redis.Client, clientConfig) error) error {
	security, err := c.tls()
	if err != nil {
		return err
	}
	client := redis.NewClient(c.options(security))
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, clientTimeout)
	defer cancel()
	err = question(ctx, client, c)
	if errors.Is(err, io.EOF) && security == nil {
		return fmt.Errorf("asking %s: %w; if the server uses TLS, give --tls-ca", c.Addr, err)
	}
	if err != nil {
		return fmt.Errorf("asking %s: %w", c.Addr, err)
	}
	return nil
}

// options are those of a client that tries once: the person asking sees what happened and asks again.
func (c clientConfig) options(security *tls.Config) *redis.Options {
	logging.Disable() // the error that is printed says it all
	return &redis.Options{
		Addr:          c.Addr,
		Password:      c.Password,
		TLSConfig:     security,
		MaxRetries:    -1,
		DialerRetries: 1,
		// what Redfence would refuse, and count as an error of a client
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// tls is nil unless an authority is named. A certificate of our own is shown only when one is configured.
func (c clientConfig) tls() (*tls.Config, error) {
	if c.TLSCA == "" {
		return nil, nil
	}
	pool, err := loadAuthority("tls-ca", c.TLSCA)
	if err != nil {
		return nil, err
	}
	security := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}
	if c.TLSCert == "" {
		return security, nil
	}
	pair, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert and --tls-key: %w", err)
	}
	security.Certificates = []tls.Certificate{pair}
	return security, nil
}
