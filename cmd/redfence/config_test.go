package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// parse loads a configuration from flags and the text of a file, in an empty working directory.
func parse(t *testing.T, file string, args ...string) (Config, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	if file != "" {
		require.NoError(t, os.WriteFile(defaultConfigFile, []byte(file), 0o600))
	}
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	addServeFlags(flags)
	addConfigFlag(flags)
	require.NoError(t, flags.Parse(args))
	return loadConfig(flags)
}

func TestDefaultsAreValidAndComeThroughUnchanged(t *testing.T) {
	cfg, err := parse(t, "")
	require.NoError(t, err)
	want := defaultConfig()
	want.Mode = modeRaft
	want.Nodes, want.Join, want.SentinelListen, want.LockKeys = []string{}, []string{}, []string{}, []string{}
	assert.Equal(t, want, cfg)
}

func TestPrecedence(t *testing.T) {
	file := "listen: 127.0.0.1:1\nmax-bulk: 2mb\nmax-clients: 7\nnode-timeout: 3s\n"
	t.Setenv("REDFENCE_LISTEN", "127.0.0.1:2")
	t.Setenv("REDFENCE_MAX_BULK", "3mb")
	cfg, err := parse(t, file, "--listen", "127.0.0.1:3")
	require.NoError(t, err)
	assert.Equal(t, "127.0.0.1:3", cfg.Listen, "flag before environment")
	assert.Equal(t, 3*mib, cfg.MaxBulk, "environment before file")
	assert.Equal(t, 7, cfg.MaxClients, "file before default")
	assert.Equal(t, 3*time.Second, cfg.NodeTimeout, "file before default")
	assert.Equal(t, 32*mib, cfg.MaxOutput, "default")
}

func TestEmptyVariableIsAValue(t *testing.T) {
	t.Setenv("REDFENCE_HTTP_LISTEN", "")
	cfg, err := parse(t, "")
	require.NoError(t, err)
	assert.Empty(t, cfg.HTTPListen)
}

func TestListsAreWrittenThreeWays(t *testing.T) {
	want := []string{"redis://a:1", "redis://b:1", "redis://c:1"}
	read := func(file string, args ...string) []string {
		t.Helper()
		cfg, err := parse(t, file, args...)
		require.NoError(t, err)
		require.Equal(t, modeQuorum, cfg.Mode)
		return cfg.Nodes
	}
	assert.Equal(t, want, read("", "--node", "redis://a:1", "--node", "redis://b:1", "--node", "redis://c:1"))
	assert.Equal(t, want, read("node: ['redis://a:1', 'redis://b:1', 'redis://c:1']"))
	t.Setenv("REDFENCE_NODE", "redis://a:1,redis://b:1,redis://c:1")
	assert.Equal(t, want, read(""))
}

// Every flag, given in the file and in the environment with its own default, leaves the defaults as they are: so
// each one has its key, its variable and its field.
func TestEveryFlagIsAKeyAndAVariable(t *testing.T) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	addServeFlags(flags)
	flags.VisitAll(func(f *pflag.Flag) {
		value, other := sampleValues(f)
		t.Run(f.Name, func(t *testing.T) {
			fromFile, _ := parse(t, f.Name+": "+value)
			fromFlag, _ := parse(t, "", "--"+f.Name+"="+value)
			assert.Equal(t, fromFlag, fromFile)
			fromOther, _ := parse(t, "", "--"+f.Name+"="+other)
			assert.NotEqual(t, fromFlag, fromOther, "the flag reaches a field")
			t.Setenv(variable(f.Name), value)
			fromEnv, _ := parse(t, "")
			assert.Equal(t, fromFlag, fromEnv)
		})
	})
}

// sampleValues are two different values that the flag's type accepts.
func sampleValues(f *pflag.Flag) (value, other string) {
	switch f.Value.Type() {
	case "bool":
		return "true", "false"
	case "duration":
		return "7s", "8s"
	case "int":
		return "7", "8"
	case "size":
		return "7kb", "8kb"
	default:
		return "seven", "eight"
	}
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		name string
		file string
		args []string
		want []string // parts of the message: the cause and the way out
	}{
		{
			name: "unknown key", file: "listne: 127.0.0.1:1\nmax_bulk: 1mb\n",
			want: []string{`unknown key "listne", "max_bulk"`, "redfence help"},
		},
		{name: "nested key", file: "tls:\n  cert: x\n", want: []string{`unknown key "tls"`}},
		{name: "key of another case", file: "Listen: 127.0.0.1:1\n", want: []string{`unknown key "Listen"`}},
		{name: "the file cannot name a file", file: "config: other.yaml\n", want: []string{`unknown key "config"`}},
		{name: "no YAML", file: "listen: [", want: []string{"configuration file redfence.yaml"}},
		{name: "key twice", file: "listen: a:1\nlisten: b:1\n", want: []string{"already defined"}},
		{name: "wrong kind", file: "max-clients: many\n", want: []string{"'max-clients'"}},
		{name: "bad size", file: "max-bulk: 12 parsecs\n", want: []string{"'max-bulk'"}},
		{name: "bad duration", file: "max-lock-ttl: soon\n", want: []string{"'max-lock-ttl'"}},
		{name: "duration without unit", file: "node-timeout: 100\n", want: []string{"'node-timeout'", "unit", "100ms"}},
		{name: "missing file", args: []string{"--config", "none.yaml"}, want: []string{"none.yaml", "no such file"}},
		{name: "mode", args: []string{"--mode", "paxos"}, want: []string{`--mode is "paxos"`, "raft, quorum"}},
		{name: "parked for too long", args: []string{"--park", "1s"}, want: []string{"--park is 1s", "50ms"}},
		{name: "log store", args: []string{"--log-store", "etcd"}, want: []string{"wal, bolt"}},
		{name: "log level", args: []string{"--log-level", "loud"}, want: []string{"debug, info, warn, error"}},
		{name: "log format", args: []string{"--log-format", "xml"}, want: []string{"console, json"}},
		{name: "address without port", args: []string{"--listen", "127.0.0.1"}, want: []string{"--listen", "host:port"}},
		{name: "port out of range", args: []string{"--http-listen", ":70000"}, want: []string{"--http-listen", "host:port"}},
		{
			name: "one port twice", args: []string{"--http-listen", "127.0.0.1:6380"},
			want: []string{"--listen and --http-listen are both", "another port"},
		},
		{name: "zero limit", args: []string{"--max-pipeline", "0"}, want: []string{"--max-pipeline", "greater than 0"}},
		{
			name: "argument larger than memory", args: []string{"--max-memory", "1mb"},
			want: []string{"--max-bulk is 64mb", "--max-memory only 1mb", "lower"},
		},
		{
			name: "argument larger than unfinished requests may be", args: []string{"--max-input", "1mb"},
			want: []string{"--max-bulk is 64mb", "--max-input only 1mb", "raise"},
		},
		{name: "certificate without key", args: []string{"--tls-cert", "c.pem"}, want: []string{"--tls-key", "both or neither"}},
		{name: "member key alone", args: []string{"--raft-tls-key", "k.pem"}, want: []string{"--raft-tls-cert"}},
		{name: "authority alone", args: []string{"--tls-ca", "ca.pem"}, want: []string{"--tls-ca", "--tls-cert and --tls-key too"}},
		{name: "open to the network", args: []string{"--listen", "0.0.0.0:6380"}, want: []string{"REDFENCE_PASSWORD", "--insecure"}},
		{name: "all interfaces", args: []string{"--listen", ":6380"}, want: []string{"--insecure"}},
		{name: "a name that may be anything", args: []string{"--listen", "myhost:6380"}, want: []string{"--insecure"}},
		{
			name: "nodes in raft mode", args: []string{"--mode", "raft", "--node", "redis://a:1"},
			want: []string{"--node selects quorum mode", "leave one of them out"},
		},
		{name: "two nodes", args: []string{"--node", "redis://a:1,redis://b:1"}, want: []string{"2 of --node", "3 or 5"}},
		{name: "quorum without nodes", args: []string{"--mode", "quorum"}, want: []string{"0 of --node"}},
		{name: "a node twice", args: []string{"--node", "redis://a:1,redis://b:1,redis://a:1"}, want: []string{"a:1 is given twice"}},
		{
			name: "database in a node", args: []string{"--node", "redis://a:1/3,redis://b:1,redis://c:1"},
			want: []string{"a:1 names database 3", "SELECT"},
		},
		{name: "no Redis URL", args: []string{"--node", "a:1,redis://b:1,redis://c:1"}, want: []string{"--node number 1"}},
		{name: "nobody to expect", args: []string{"--bootstrap-expect", "3"}, want: []string{"--bootstrap-expect is 3", "--join"}},
		{
			name: "no address for others", args: []string{"--join", "a:1", "--raft-listen", ":7380", "--insecure"},
			want: []string{"--raft-listen is :7380", "--raft-advertise"},
		},
		{
			name: "members without certificates", args: []string{"--join", "a:1", "--raft-listen", "10.0.0.1:7380"},
			want: []string{"--raft-listen is 10.0.0.1:7380", "--raft-tls-cert", "--insecure"},
		},
		{
			name: "members that check nothing", args: []string{"--raft-tls-cert", "c.pem", "--raft-tls-key", "k.pem"},
			want: []string{"--raft-tls-ca is missing"},
		},
		{
			name: "quorum mode with members", args: []string{"--node", "redis://a:1,redis://b:1,redis://c:1", "--join", "a:1"},
			want: []string{"--join", "leave them out in quorum mode"},
		},
		{
			name: "sentinel face without an address to name",
			args: []string{"--sentinel-listen", "127.0.0.1:26379", "--listen", "0.0.0.0:6380", "--insecure"}, want: []string{"--announce host:port"},
		},
		{
			name: "sentinel face that names all interfaces",
			args: []string{"--sentinel-listen", "127.0.0.1:26379", "--announce", "0.0.0.0:6380"}, want: []string{"--announce is 0.0.0.0:6380"},
		},
		{
			name: "sentinel face open to the network",
			args: []string{"--sentinel-listen", "0.0.0.0:26379"}, want: []string{"0.0.0.0:26379", "REDFENCE_PASSWORD", "--insecure"},
		},
		{
			name: "master name with spaces",
			args: []string{"--sentinel-listen", "127.0.0.1:26379", "--sentinel-master", "my master"}, want: []string{"--sentinel-master"},
		},
		{name: "upstream without patterns", args: []string{"--upstream", "redis://127.0.0.1:6379"}, want: []string{"--lock-keys", "lock:*"}},
		{name: "patterns without upstream", args: []string{"--lock-keys", "lock:*"}, want: []string{"--upstream", "leave it out"}},
		{name: "an empty pattern", args: []string{"--upstream", "redis://a:1", "--lock-keys", "lock:*,"}, want: []string{"empty pattern"}},
		{
			name: "upstream with a database", args: []string{"--upstream", "redis://:secret@a:1/2", "--lock-keys", "l*"},
			want: []string{"redis://a:1/2", "SELECT"},
		},
		{name: "roles that nobody gives", args: []string{"--replica-roles"}, want: []string{"--sentinel-listen"}},
		{name: "upstream of Sentinels without a master", args: []string{"--upstream", "sentinel://a:1", "--lock-keys", "l*"}, want: []string{"mymaster"}},
		{name: "upstream of another kind", args: []string{"--upstream", "http://a:1", "--lock-keys", "l*"}, want: []string{"redis://host:port"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parse(t, tt.file, tt.args...)
			require.Error(t, err)
			for _, part := range tt.want {
				assert.ErrorContains(t, err, part)
			}
		})
	}
}

func TestQuorumModeWithoutNodesIsOneMistake(t *testing.T) {
	_, err := parse(t, "", "--mode", "quorum")
	require.Error(t, err)
	assert.Len(t, strings.Split(err.Error(), "\n"), 1, err.Error())
}

func TestAccepted(t *testing.T) {
	tests := []struct {
		name string
		args []string
	}{
		{"IPv6 loopback", []string{"--listen", "[::1]:6380"}},
		{"localhost", []string{"--listen", "localhost:0"}},
		{"network with a password", []string{"--listen", ":6380", "--password", "secret"}},
		{"network with a certificate", []string{"--listen", ":6380", "--tls-cert", "c", "--tls-key", "k"}},
		{"network on purpose", []string{"--listen", ":6380", "--insecure"}},
		{"free ports", []string{"--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0"}},
		{"a cluster of one", []string{"--bootstrap-expect", "1"}},
		{"no file at all", []string{"--config", ""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parse(t, "", tt.args...)
			assert.NoError(t, err)
		})
	}
}

func TestPasswordsOfNodesStayOutOfMessages(t *testing.T) {
	_, err := parse(t, "", "--node", "redis://:hunter2@a:1/1,redis://:hunter2@b:x1,redis://:hunter2@a:1")
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "hunter2")
}

func TestSizes(t *testing.T) {
	tests := []struct {
		text string
		want Size
	}{
		{"64mb", 64 * mib}, {"1gb", gib}, {"1GB", gib}, {"1g", gib}, {"512kb", 512 * kib}, {"4096", 4 * kib}, {"65537", 65537},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			var got, again Size
			require.NoError(t, got.Set(tt.text))
			assert.Equal(t, tt.want, got)
			require.NoError(t, again.Set(got.String()))
			assert.Equal(t, got, again, "what it prints reads as the same size")
		})
	}
	for _, bad := range []string{"", "-1", "-1mb", "mb", "1 parsec"} {
		var s Size
		assert.Error(t, s.Set(bad), bad)
	}
}

func TestExplicitFileIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.yaml")
	require.NoError(t, os.WriteFile(path, []byte("max-args: 99\n"), 0o600))
	cfg, err := parse(t, "max-args: 11\n", "--config", path)
	require.NoError(t, err)
	assert.Equal(t, 99, cfg.MaxArgs)
	t.Setenv("REDFENCE_CONFIG", path)
	cfg, err = parse(t, "")
	require.NoError(t, err)
	assert.Equal(t, 99, cfg.MaxArgs)
}
