package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Validate reports every reason why the configuration cannot be run, each with the way out.
func (c *Config) Validate() error {
	return errors.Join(
		oneOf("mode", c.Mode, modeRaft, modeQuorum),
		oneOf("log-store", c.LogStore, "wal", "bolt"),
		oneOf("log-level", c.LogLevel, "debug", "info", "warn", "error"),
		oneOf("log-format", c.LogFormat, "console", "json"),
		c.validateAddresses(),
		c.validateLimits(),
		validateTLS("", c.TLSCert, c.TLSKey, c.TLSCA),
		validateTLS("raft-", c.RaftTLSCert, c.RaftTLSKey, c.RaftTLSCA),
		c.validateExposure(),
		c.validateNodes(),
		c.validateUpstream(),
		c.validateCluster(),
		c.validateSentinel(),
	)
}

func oneOf(flag, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("--%s is %q; it must be one of %s", flag, value, strings.Join(allowed, ", "))
}

func (c *Config) validateAddresses() error {
	errs := []error{address("listen", c.Listen), address("raft-listen", c.RaftListen)}
	optional := []struct{ flag, value string }{
		{"raft-advertise", c.RaftAdvertise}, {"announce", c.Announce}, {"http-listen", c.HTTPListen},
	}
	for _, o := range optional {
		if o.value != "" {
			errs = append(errs, address(o.flag, o.value))
		}
	}
	for _, j := range c.Join {
		errs = append(errs, address("join", j))
	}
	for _, s := range c.SentinelListen {
		errs = append(errs, address("sentinel-listen", s))
	}
	if c.Listen == c.HTTPListen && !strings.HasSuffix(c.Listen, ":0") {
		errs = append(errs, fmt.Errorf("--listen and --http-listen are both %s; give one of them another port", c.Listen))
	}
	return errors.Join(errs...)
}

// address accepts host:port with a port from 0 to 65535; an empty host means all interfaces.
func address(flag, value string) error {
	_, port, err := net.SplitHostPort(value)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("--%s is %q; it must be host:port, for example 127.0.0.1:6380", flag, value)
	}
	return nil
}

// maxPark is for how long a refused attempt may be kept. It is well below what any client allows for an answer.
const maxPark = 50 * time.Millisecond

func (c *Config) validateLimits() error {
	limits := []struct {
		flag  string
		value int64
	}{
		{"node-timeout", int64(c.NodeTimeout)},
		{"max-lock-ttl", int64(c.MaxLockTTL)},
		{"fence-memory", c.FenceMemory.Milliseconds()},
		{"max-memory", int64(c.MaxMemory)},
		{"max-clients", int64(c.MaxClients)},
		{"max-bulk", int64(c.MaxBulk)},
		{"max-args", int64(c.MaxArgs)},
		{"max-pipeline", int64(c.MaxPipeline)},
		{"max-output", int64(c.MaxOutput)},
		{"max-input", int64(c.MaxInput)},
	}
	var errs []error
	for _, l := range limits {
		if l.value <= 0 {
			errs = append(errs, fmt.Errorf("--%s must be greater than 0; leave it out for its default", l.flag))
		}
	}
	if c.MaxBulk > c.MaxMemory {
		errs = append(errs, fmt.Errorf("--max-bulk is %s and --max-memory only %s, so the largest argument could never "+
			"be stored; lower the first or raise the second", c.MaxBulk, c.MaxMemory))
	}
	if c.MaxBulk > c.MaxInput {
		errs = append(errs, fmt.Errorf("--max-bulk is %s and --max-input only %s, so the largest argument could never "+
			"arrive; lower the first or raise the second", c.MaxBulk, c.MaxInput))
	}
	if c.Park < 0 || c.Park > maxPark {
		errs = append(errs, fmt.Errorf("--park is %v; it must be from 0 to %v, since polling clients give up soon", c.Park, maxPark))
	}
	if c.BootstrapExpect < 0 {
		errs = append(errs, fmt.Errorf("--bootstrap-expect is %d; it is a number of members", c.BootstrapExpect))
	}
	return errors.Join(errs...)
}

// validateTLS checks that a certificate comes with its key, and an authority with both.
func validateTLS(prefix, cert, key, ca string) error {
	switch {
	case (cert == "") != (key == ""):
		return fmt.Errorf("--%[1]stls-cert and --%[1]stls-key belong together; give both or neither", prefix)
	case ca != "" && cert == "":
		return fmt.Errorf("--%[1]stls-ca asks for certificates from the other side, but there is none for this one; "+
			"give --%[1]stls-cert and --%[1]stls-key too", prefix)
	}
	return nil
}

// validateExposure keeps a laptop's default from becoming an open lock server on a network.
func (c *Config) validateExposure() error {
	if c.Insecure || c.Password != "" || c.TLSCert != "" {
		return nil
	}
	var errs []error
	for _, l := range append([]string{c.Listen}, c.SentinelListen...) {
		if !isLoopback(l) {
			errs = append(errs, exposed(l))
		}
	}
	return errors.Join(errs...)
}

func exposed(address string) error {
	return fmt.Errorf("clients shall connect to %s, which others can reach, and there is neither password nor certificate; "+
		"set REDFENCE_PASSWORD or --tls-cert and --tls-key, listen on 127.0.0.1, or accept it with --insecure", address)
}

// validateCluster checks what members need to reach each other. The cluster port takes no password.
func (c *Config) validateCluster() error {
	asked := len(c.Join) > 0 || c.BootstrapExpect > 1
	switch {
	case c.Mode == modeQuorum && asked:
		return errors.New("--join and --bootstrap-expect are for clusters of raft mode; leave them out in quorum mode")
	case c.Mode != modeRaft:
		return nil
	case c.BootstrapExpect > 1 && len(c.Join) == 0:
		return fmt.Errorf("--bootstrap-expect is %d, and without --join there is nobody to expect; name the others", c.BootstrapExpect)
	case asked && c.RaftAdvertise == "" && isUnspecified(c.RaftListen):
		return fmt.Errorf("--raft-listen is %s, which others cannot connect to; give --raft-advertise host:port", c.RaftListen)
	case c.RaftTLSCert != "" && c.RaftTLSCA == "":
		return errors.New("--raft-tls-ca is missing: members check each other's certificates, so it is needed beside --raft-tls-cert")
	case c.Insecure || c.RaftTLSCert != "" || isLoopback(c.RaftListen):
		return nil
	}
	return fmt.Errorf("--raft-listen is %s, which others can reach, and members have no certificates; give --raft-tls-cert, "+
		"--raft-tls-key and --raft-tls-ca, or accept it with --insecure", c.RaftListen)
}

// isUnspecified tells whether an address to listen on means all interfaces.
func isUnspecified(hostPort string) bool {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		return false // validateAddresses has the error
	}
	ip, err := netip.ParseAddr(host)
	return host == "" || err == nil && ip.IsUnspecified()
}

// isLoopback is true only for what cannot be anything else: a loopback IP or the name localhost.
func isLoopback(hostPort string) bool {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		return true // validateAddresses has the error; do not report it twice
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// validateNodes checks the nodes of quorum mode. A majority needs an odd number of independent servers: 3 or 5.
func (c *Config) validateNodes() error {
	if c.Mode == modeRaft && len(c.Nodes) > 0 {
		return errors.New("--node selects quorum mode, but --mode is raft; leave one of them out")
	}
	if c.Mode != modeQuorum {
		return nil
	}
	var errs []error
	if n := len(c.Nodes); n != 3 && n != 5 {
		errs = append(errs, fmt.Errorf("quorum mode has %d of --node; give 3 or 5 independent Redis nodes", n))
	}
	seen := map[string]bool{}
	for i, node := range c.Nodes {
		opt, err := redis.ParseURL(node)
		switch {
		case err != nil || opt.Network != "tcp": // the error and the URL may hold a password
			errs = append(errs, fmt.Errorf("--node number %d is not a Redis URL; it must be redis://host:port", i+1))
		case strings.Contains(node, "?"):
			errs = append(errs, fmt.Errorf("--node %s has parameters; leave out what begins with the question mark", opt.Addr))
		case opt.DB != 0:
			errs = append(errs, fmt.Errorf("--node %s names database %d; leave it out, clients choose with SELECT", opt.Addr, opt.DB))
		case seen[opt.Addr]:
			errs = append(errs, fmt.Errorf("--node %s is given twice; a server has one vote", opt.Addr))
		default:
			seen[opt.Addr] = true
		}
	}
	return errors.Join(errs...)
}

// validateSentinel checks what the Sentinel face needs to name members.
func (c *Config) validateSentinel() error {
	if len(c.SentinelListen) == 0 {
		if c.ReplicaRoles {
			return errors.New("--replica-roles needs to know who is named; give --sentinel-listen")
		}
		return nil
	}
	switch {
	case c.SentinelMaster == "" || strings.ContainsAny(c.SentinelMaster, " \t\r\n"):
		return fmt.Errorf("--sentinel-master is %q; it must be a name without spaces", c.SentinelMaster)
	case c.Announce == "" && isUnspecified(c.Listen):
		return fmt.Errorf("--listen is %s, which the Sentinel face cannot name to clients; give --announce host:port", c.Listen)
	case c.Announce != "" && isUnspecified(c.Announce):
		return fmt.Errorf("--announce is %s, which no client can connect to; give the address that clients use", c.Announce)
	}
	return nil
}
