package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/proxy"
)

// The two modes: locks in redfence's own replicated log, or on a majority of independent Redis nodes.
const (
	modeRaft   = "raft"
	modeQuorum = "quorum"
)

// Config is everything that `redfence serve` can be told. The name in a field's tag is its flag, its key in the
// YAML file and, in capitals with REDFENCE_ in front and _ for -, its environment variable.
type Config struct {
	Listen  string `mapstructure:"listen"`
	Mode    string `mapstructure:"mode"` // empty until resolve: raft, or quorum when nodes are given
	DataDir string `mapstructure:"data-dir"`

	Nodes       []string      `mapstructure:"node"`
	NodeTimeout time.Duration `mapstructure:"node-timeout"`
	MaxLockTTL  time.Duration `mapstructure:"max-lock-ttl"`

	NodeID          string   `mapstructure:"node-id"`
	LogStore        string   `mapstructure:"log-store"`
	RaftListen      string   `mapstructure:"raft-listen"`
	RaftAdvertise   string   `mapstructure:"raft-advertise"`
	BootstrapExpect int      `mapstructure:"bootstrap-expect"`
	Join            []string `mapstructure:"join"`

	Park time.Duration `mapstructure:"park"`

	SentinelListen []string `mapstructure:"sentinel-listen"`
	SentinelMaster string   `mapstructure:"sentinel-master"`
	ReplicaRoles   bool     `mapstructure:"replica-roles"`
	Announce       string   `mapstructure:"announce"`

	Upstream string   `mapstructure:"upstream"`  // the Redis of all keys that are no locks; empty: every key is a lock
	LockKeys []string `mapstructure:"lock-keys"` // patterns of the locks' keys beside an upstream

	NoWakeups bool `mapstructure:"no-wakeups"`

	HTTPListen string `mapstructure:"http-listen"` // empty: no HTTP

	Password    string `mapstructure:"password"`
	TLSCert     string `mapstructure:"tls-cert"`
	TLSKey      string `mapstructure:"tls-key"`
	TLSCA       string `mapstructure:"tls-ca"`
	RaftTLSCert string `mapstructure:"raft-tls-cert"`
	RaftTLSKey  string `mapstructure:"raft-tls-key"`
	RaftTLSCA   string `mapstructure:"raft-tls-ca"`
	Insecure    bool   `mapstructure:"insecure"`

	FenceMemory time.Duration `mapstructure:"fence-memory"`

	MaxMemory   Size `mapstructure:"max-memory"`
	MaxClients  int  `mapstructure:"max-clients"`
	MaxBulk     Size `mapstructure:"max-bulk"`
	MaxArgs     int  `mapstructure:"max-args"`
	MaxPipeline int  `mapstructure:"max-pipeline"`
	MaxOutput   Size `mapstructure:"max-output"`
	MaxInput    Size `mapstructure:"max-input"`

	LogLevel  string `mapstructure:"log-level"`
	LogFormat string `mapstructure:"log-format"`
}

// defaultConfig is what a newcomer gets: one node, loopback only, everything kept in ./redfence-data.
func defaultConfig() Config {
	return Config{
		Listen:         "127.0.0.1:6380",
		DataDir:        "./redfence-data",
		NodeTimeout:    100 * time.Millisecond,
		MaxLockTTL:     time.Minute,
		LogStore:       "wal",
		RaftListen:     "127.0.0.1:7380",
		SentinelMaster: "mymaster",
		HTTPListen:     "127.0.0.1:9380",
		FenceMemory:    commands.FenceMemory,
		MaxMemory:      gib,
		MaxClients:     proxy.DefaultMaxClients,
		MaxBulk:        proxy.DefaultMaxBulk,
		MaxArgs:        proxy.DefaultMaxArgs,
		MaxPipeline:    proxy.DefaultMaxPipeline,
		MaxOutput:      proxy.DefaultMaxOutput,
		MaxInput:       proxy.DefaultMaxInput,
		LogLevel:       "info",
		LogFormat:      "console",
	}
}

// addServeFlags declares the flags of `redfence serve`. They are the single list of what can be configured:
// the known keys of the file, the environment variables and docs/configuration.md follow from it.
func addServeFlags(fs *pflag.FlagSet) {
	d := defaultConfig()
	fs.String("listen", d.Listen, "address that clients connect to; port 0 picks a free one")
	fs.String("mode", d.Mode, "raft or quorum; raft unless --node is given")
	fs.String("data-dir", d.DataDir, "directory of the log and the snapshots (raft mode)")
	fs.StringSlice("node", d.Nodes, "a Redis node, redis://host:port; repeat for 3 or 5 nodes; selects quorum mode")
	fs.Duration("node-timeout", d.NodeTimeout, "how long one node's vote is waited for (quorum mode)")
	fs.Duration("max-lock-ttl", d.MaxLockTTL, "how long a node that may have forgotten locks is kept from voting (quorum mode)")
	fs.String("node-id", d.NodeID, "this member's name in the cluster; kept in the data directory when not given")
	fs.String("log-store", d.LogStore, "what holds the Raft log: wal or bolt; fixed once the data directory exists")
	fs.String("raft-listen", d.RaftListen, "address for the other members; a single node does not open it")
	fs.String("raft-advertise", d.RaftAdvertise, "address that other members use for this one; --raft-listen when not given")
	fs.Int("bootstrap-expect", d.BootstrapExpect, "number of members that form a new cluster; 0 or 1 is a single node")
	fs.StringSlice("join", d.Join, "addresses of the other members, host:port,...")
	fs.Duration("park", d.Park, "how long a refused SET NX may wait for the release, first come first served; "+
		"0 is up to 10 ms, and only while the lock changes hands quickly (raft mode)")
	fs.StringSlice("sentinel-listen", d.SentinelListen, "addresses that answer as Redis Sentinels, host:port,...")
	fs.String("sentinel-master", d.SentinelMaster, "master name that the Sentinel face answers for")
	fs.Bool("replica-roles", d.ReplicaRoles, "call this process a replica, in ROLE and INFO, while the Sentinel face names another")
	fs.String("announce", d.Announce, "address that the Sentinel face names; --listen when not given")
	fs.String("upstream", d.Upstream, "Redis for the keys that are no locks: redis://host:port, or sentinel://host:port,.../master")
	fs.StringSlice("lock-keys", d.LockKeys, "patterns of the keys that are locks, beside --upstream: 'lock:*,redisson_lock*'")
	fs.Bool("no-wakeups", d.NoWakeups, "do not wake Redisson's waiters when a lock expired, was deleted or is free already")
	fs.String("http-listen", d.HTTPListen, "address of /metrics, /healthz and /readyz; empty turns it off")
	fs.String("password", d.Password, "password that clients must AUTH with; better given as REDFENCE_PASSWORD")
	fs.String("tls-cert", d.TLSCert, "certificate file (PEM) for clients; clients must then use TLS")
	fs.String("tls-key", d.TLSKey, "key file (PEM) of --tls-cert")
	fs.String("tls-ca", d.TLSCA, "certificate authority file (PEM); clients must show a certificate that it signed")
	fs.String("raft-tls-cert", d.RaftTLSCert, "certificate file (PEM) for traffic between members")
	fs.String("raft-tls-key", d.RaftTLSKey, "key file (PEM) of --raft-tls-cert")
	fs.String("raft-tls-ca", d.RaftTLSCA, "certificate authority file (PEM) that signs the members' certificates")
	fs.Duration("fence-memory", d.FenceMemory, "how long FENCE.CHECK remembers the token of a resource that nobody checks")
	fs.Bool("insecure", d.Insecure, "allow an address off loopback without password or certificates")
	addLimitFlags(fs, d)
	fs.String("log-level", d.LogLevel, "debug, info, warn or error")
	fs.String("log-format", d.LogFormat, "console or json; on standard error")
}

// addLimitFlags declares the bounds that keep hostile or careless clients from taking the process down.
func addLimitFlags(fs *pflag.FlagSet, d Config) {
	memory, bulk, output, input := d.MaxMemory, d.MaxBulk, d.MaxOutput, d.MaxInput
	fs.Var(&memory, "max-memory", "size of all keys and values; over it, growth is answered with -OOM (raft mode)")
	fs.Int("max-clients", d.MaxClients, "client connections at once")
	fs.Var(&bulk, "max-bulk", "size of one argument")
	fs.Int("max-args", d.MaxArgs, "arguments of one command")
	fs.Int("max-pipeline", d.MaxPipeline, "unanswered commands of one connection before reading pauses")
	fs.Var(&output, "max-output", "unread replies of one connection before it is cut")
	fs.Var(&input, "max-input", "unfinished requests of all connections together, beside 16 KiB of each")
}

// addConfigFlag declares --config, which is the one flag that is no key of the file.
func addConfigFlag(fs *pflag.FlagSet) {
	fs.String(configFlag, defaultConfigFile, "YAML file with the keys of these flags; the default is read when it exists")
}

// resolve fills what follows from other settings.
func (c *Config) resolve() {
	if c.Mode != "" {
		return
	}
	c.Mode = modeRaft
	if len(c.Nodes) > 0 {
		c.Mode = modeQuorum
	}
}
