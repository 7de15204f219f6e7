package proxy

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/integration/harness"
)

func TestEveryLocalCommandHasAHandlerAndNoOther(t *testing.T) {
	handlers := newHandlers(commands.Standard(), localHandlers())
	for _, spec := range commands.All() {
		h := handlers[spec.ID]
		answers := h.now != nil || h.later != nil || h.listen != nil || h.own != nil
		container := spec.Sub != nil && spec.Arity == -2
		// WATCH keeps the backend's answer, blocking commands ask more than once.
		through := spec.Name == "watch" || spec.Flags.Has(commands.Blocking)
		require.Equal(t, (spec.Raft == commands.Local && !container) || through, answers, spec.Name)
	}
	for name := range localHandlers() {
		_, err := commands.Lookup(strings.SplitN(name, "|", 2))
		require.NoError(t, err, "%s is not in the table", name)
	}
}

// scripts are what sessions of real clients and of curious people send. The replies must be those of redis-server.
var scripts = map[string]string{
	"ping":      "PING | PING hi | PING a b | ping | PiNg",
	"echo":      "ECHO hi | ECHO | ECHO a b",
	"unknown":   "NOSUCH | NOSUCH a 'b c' | CLIENT NOSUCH | CLIENT | CONFIG | COMMAND NOSUCH | PUBSUB NOSUCH | CLUSTER NOSUCH | ''",
	"arity":     "AUTH | SELECT | SELECT 1 2 | HELLO 2 AUTH a | RESET x | CLIENT ID x | ROLE x | WAIT 1 | CONFIG GET | CLIENT REPLY | SUBSCRIBE | TIME x",
	"select":    "SELECT 0 | SELECT 15 | SELECT 16 | SELECT -1 | SELECT a | SELECT 99999999999 | SELECT 01",
	"hello":     "HELLO 1 | HELLO 4 | HELLO a | HELLO 2 FOO | HELLO 2 SETNAME | HELLO 3 SETNAME 'a b' | HELLO 2 AUTH other x | HELLO 2 AUTH default",
	"hello 3":   "HELLO 3 SETNAME me | CLIENT GETNAME | PING | CONFIG GET save | CONFIG GET nosuch | COMMAND INFO nosuch | COMMAND DOCS nosuch | RESET | CLIENT GETNAME",
	"auth":      "AUTH a | AUTH default a | AUTH other a | AUTH a b c",
	"names":     "CLIENT GETNAME | CLIENT SETNAME a | CLIENT GETNAME | CLIENT SETNAME 'a b' | CLIENT SETNAME '' | CLIENT GETNAME",
	"client":    "CLIENT GETREDIR | CLIENT NO-EVICT ON | CLIENT NO-EVICT x | CLIENT REPLY x | CLIENT REPLY ON | CLIENT UNPAUSE | CLIENT TRACKING x | CLIENT TRACKING OFF",
	"tracking":  "CLIENT TRACKINGINFO | CLIENT CACHING YES | CLIENT TRACKING ON FOO | CLIENT TRACKING ON REDIRECT | CLIENT TRACKING ON REDIRECT x | CLIENT TRACKING ON REDIRECT 999999 | CLIENT TRACKING OFF REDIRECT 0 | CLIENT TRACKING ON PREFIX a | CLIENT TRACKING ON BCAST OPTIN | CLIENT TRACKING ON OPTIN OPTOUT | CLIENT TRACKING x OPTIN | CLIENT CACHING | CLIENT TRACKING | CLIENT TRACKINGINFO x",
	"opt in":    "CLIENT TRACKING ON OPTIN | CLIENT TRACKING ON OPTOUT | CLIENT TRACKING ON BCAST | CLIENT CACHING NO | CLIENT CACHING maybe | CLIENT CACHING YES;CLIENT TRACKINGINFO;PING;CLIENT TRACKINGINFO | CLIENT CACHING YES;CLIENT GETREDIR;CLIENT TRACKINGINFO;NOSUCH;CLIENT TRACKINGINFO | CLIENT CACHING YES;MULTI;PING;CLIENT TRACKINGINFO;EXEC;CLIENT TRACKINGINFO | CLIENT TRACKING ON | CLIENT TRACKINGINFO | CLIENT CACHING YES | CLIENT TRACKING OFF | CLIENT GETREDIR",
	"opt out":   "HELLO 3 SETNAME x | CLIENT TRACKING ON OPTOUT NOLOOP | CLIENT CACHING NO;MULTI;CLIENT TRACKINGINFO;EXEC;CLIENT TRACKINGINFO | CLIENT TRACKINGINFO | RESET | CLIENT TRACKINGINFO",
	"bcast":     "HELLO 3 SETNAME x | CLIENT TRACKING ON BCAST PREFIX a PREFIX ab | CLIENT TRACKING ON BCAST PREFIX b PREFIX a | CLIENT TRACKING ON | CLIENT TRACKING ON BCAST PREFIX abc | CLIENT TRACKING ON BCAST PREFIX c NOLOOP | CLIENT TRACKINGINFO | CLIENT CACHING YES | CLIENT TRACKING OFF PREFIX a | CLIENT TRACKINGINFO | CLIENT TRACKING ON BCAST | CLIENT TRACKING ON BCAST | CLIENT TRACKING ON BCAST PREFIX a | CLIENT TRACKINGINFO",
	"list":      "CLIENT LIST TYPE x | CLIENT LIST TYPE | CLIENT LIST ID | CLIENT LIST ID a | CLIENT LIST ID 999999 | CLIENT LIST TYPE replica | CLIENT LIST x",
	"skip":      "CLIENT REPLY ON | CLIENT REPLY SKIP;PING x | PING | CLIENT REPLY OFF;PING y;CLIENT REPLY SKIP;PING z;CLIENT REPLY ON | PING",
	"wait":      "WAIT 0 0 | WAIT 0 10 | WAIT -1 0 | WAIT a 0 | WAIT 0 a | WAIT 0 -1",
	"cluster":   "CLUSTER NODES | CLUSTER SLOTS | CLUSTER INFO | CLUSTER MYID | CLUSTER",
	"role":      "ROLE",
	"config":    "CONFIG GET save | CONFIG GET appendonly | CONFIG GET databases | CONFIG GET TIMEOUT | CONFIG GET sav? nosuch | CONFIG GET [ | CONFIG SET maxmemory",
	"command":   "COMMAND INFO nosuch | COMMAND DOCS nosuch | COMMAND GETKEYS get a | COMMAND GETKEYS set a b | COMMAND GETKEYS get a b | COMMAND GETKEYS ping x | COMMAND GETKEYS ping | COMMAND GETKEYS get | COMMAND GETKEYS nosuch a | COMMAND GETKEYS eval s 2 a b c | COMMAND LIST FILTERBY | COMMAND LIST FILTERBY x y | COMMAND LIST FILTERBY module x | COMMAND LIST FILTERBY PATTERN sel*",
	"info rows": "COMMAND INFO select echo client|id client|setname subscribe unsubscribe config|get publish",
	"subscribe": "SUBSCRIBE a b a | PING | PING x | GET a | CLIENT LIST | PSUBSCRIBE p* | SSUBSCRIBE s | UNSUBSCRIBE nosuch a | UNSUBSCRIBE | PUNSUBSCRIBE | SUNSUBSCRIBE | PING",
	"nothing":   "UNSUBSCRIBE | PUNSUBSCRIBE | SUNSUBSCRIBE | UNSUBSCRIBE a b",
	"resp3":     "HELLO 3 SETNAME x | SUBSCRIBE a | PING | CLIENT GETNAME | SUBSCRIBE b c | UNSUBSCRIBE a | PING hi | RESET | PING",
	"pubsub":    "PUBSUB CHANNELS | PUBSUB NUMSUB | PUBSUB NUMSUB a b | PUBSUB NUMPAT | PUBSUB SHARDCHANNELS | PUBSUB SHARDNUMSUB a | PUBSUB CHANNELS a b | PUBSUB NUMPAT x",
	"reset":     "SUBSCRIBE a | RESET | GET | PING",
	"quit":      "PING | QUIT",
	"garbage":   "PING | *1\r\nPING",
	"garbage 2": "*1\r\n$-5",
	"garbage 3": "*1x",
	"garbage 4": "\"a",
	"no script": "SCRIPT KILL",
	"empty":     " | *0 | *-1 | PING",
	"bad flush": "INFO nosuch",
}

func TestLocalRepliesAreThoseOfRedis(t *testing.T) {
	redis := harness.StartRedis(t).Addr
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			_, addr := start(t, Config{})
			require.Equal(t, transcript(t, redis, script), transcript(t, addr, script))
		})
	}
}

// transcript sends the lines of a script, separated by bars, and returns each with the replies that came before a
// tracer's. The version and the ID in the reply of HELLO are masked.
// Within a line, semicolons separate commands that are sent at once.
func transcript(t *testing.T, addr, script string) string {
	t.Helper()
	var text strings.Builder
	c := dial(t, addr)
	for line := range strings.SplitSeq(script, " | ") {
		c.send(strings.ReplaceAll(line, ";", "\r\n") + "\r\n")
		text.WriteString(line + " => " + c.until("PING tracer\r\n") + "\n")
	}
	return masked.ReplaceAllString(text.String(), "version X proto $1 id X")
}

var masked = regexp.MustCompile(`version \$\d \S+ \$5 proto (:\d) \$2 id :\d+`)

// until sends the tracer and returns the replies in front of its own; a closed connection ends them too.
func (c *client) until(tracer string) string {
	c.t.Helper()
	_, _ = c.Write([]byte(tracer))
	var replies []string
	for {
		reply, err := readReply(c.r)
		if err != nil {
			return strings.Join(append(replies, "(closed)"), " ")
		}
		if strings.HasSuffix(reply, "tracer") {
			return strings.Join(replies, " ")
		}
		replies = append(replies, reply)
	}
}

// What redis-server 7.0 lacks, or answers with what depends on time and place.
func TestLocalReplies(t *testing.T) {
	hello := "$6 server $5 redis $7 version $5 7.2.4 $5 proto :%p $2 id :1 $4 mode $10 standalone $4 role $6 master $7 modules *0"
	tests := map[string]struct {
		lines []string
		want  string // of the last
	}{
		"HELLO":                      {[]string{"HELLO"}, "*14 " + strings.Replace(hello, "%p", "2", 1)},
		"HELLO 3":                    {[]string{"HELLO 3"}, "%7 " + strings.Replace(hello, "%p", "3", 1)},
		"HELLO keeps the protocol":   {[]string{"HELLO 3", "HELLO"}, "%7 " + strings.Replace(hello, "%p", "3", 1)},
		"CLIENT ID":                  {[]string{"CLIENT ID"}, ":1"},
		"CLIENT SETINFO":             {[]string{"CLIENT SETINFO LIB-NAME 'go-redis(,go1.26)'"}, "+OK"},
		"CLIENT SETINFO, a blank":    {[]string{"CLIENT SETINFO lib-ver '1 2'"}, "-ERR lib-ver cannot contain spaces, newlines or special characters."},
		"CLIENT SETINFO, unknown":    {[]string{"CLIENT SETINFO x y"}, "-ERR Unrecognized option 'x'"},
		"CLIENT NO-TOUCH":            {[]string{"CLIENT NO-TOUCH ON"}, "+OK"},
		"CLIENT CAPA":                {[]string{"CLIENT CAPA redirect"}, "+OK"},
		"CLIENT MAINT_NOTIFICATIONS": {[]string{"CLIENT MAINT_NOTIFICATIONS ON moving-endpoint-type internal-ip"}, "-ERR unknown subcommand 'MAINT_NOTIFICATIONS'. Try CLIENT HELP."},
		"WAIT":                       {[]string{"WAIT 2 1000"}, ":2"},
		"WAITAOF":                    {[]string{"WAITAOF 1 2 1000"}, "*2 :1 :2"},
		"WAITAOF, local":             {[]string{"WAITAOF 2 0 0"}, "-ERR value is out of range, value must between 0 and 1"},
		"WAITAOF, replicas":          {[]string{"WAITAOF 0 -1 0"}, "-ERR value is out of range, must be positive"},
		"WAITAOF, time-out":          {[]string{"WAITAOF 0 0 -1"}, "-ERR timeout is negative"},
		"READONLY":                   {[]string{"READONLY"}, "+OK"},
		"READWRITE":                  {[]string{"READWRITE"}, "+OK"},
		"ASKING":                     {[]string{"ASKING"}, "+OK"},
		"TIME":                       {[]string{"TIME"}, "*2 $10 1700000000 $6 123456"},
		"CONFIG SET":                 {[]string{"CONFIG SET maxmemory 1mb"}, "-" + string(resp.FixedSetting("maxmemory"))},
		"CONFIG SET, as it is":       {[]string{"CONFIG SET MAXMEMORY 123 save '' slowlog-max-len 7"}, "+OK"},
		"CONFIG SET, events":         {[]string{"CONFIG SET notify-keyspace-events Ex"}, "+OK"},
		"CONFIG SET, other events":   {[]string{"CONFIG SET notify-keyspace-events KEA"}, "-" + string(resp.FixedSetting("notify-keyspace-events"))},
		"CONFIG SET, one of two":     {[]string{"CONFIG SET timeout 0 databases 4"}, "-" + string(resp.FixedSetting("databases"))},
		"DEBUG":                      {[]string{"DEBUG SLEEP 1"}, "-" + string(resp.ErrNoDebug)},
		"LATENCY HELP":               {[]string{"LATENCY HELP"}, "*9 +LATENCY <subcommand> [<arg> [value] [opt] ...]. Subcommands are: +HISTORY +    Returns no samples: none are kept. +LATEST +    Returns no samples: none are kept. +RESET +    Answers 0: no samples are kept. +HELP +    Prints this help."},
		"CONFIG GET patterns": {
			[]string{"CONFIG GET MAXMEMORY* *-read-only"},
			"*8 $9 maxmemory $3 123 $16 maxmemory-policy $10 noeviction $17 replica-read-only $3 yes $15 slave-read-only $3 yes",
		},
	}
	backend := &fakeBackend{info: []InfoSection{{Name: "Memory", Lines: []string{"maxmemory:123"}}}}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, addr := start(t, Config{Backend: backend})
			c := dial(t, addr)
			last := ""
			for _, line := range tt.lines {
				last = c.do(line)
			}
			require.Equal(t, tt.want, last)
		})
	}
}

func TestInfo(t *testing.T) {
	backend := &fakeBackend{info: []InfoSection{
		{Name: "Raft", Lines: []string{"raft_state:leader"}},
		{Name: "Keyspace", Lines: []string{"db0:keys=1,expires=0,avg_ttl=0"}},
	}}
	_, addr := start(t, Config{Backend: backend, Version: "1.2.3"})
	c := dial(t, addr)
	tests := map[string]struct {
		line     string
		want     []string
		sections []string
	}{
		"all": {
			"INFO",
			[]string{
				"redis_version:7.2.4", "redfence_version:1.2.3", "redis_mode:standalone", "connected_clients:1", "loading:0",
				"aof_enabled:0", "role:master", "connected_slaves:0", "cluster_enabled:0", "maxmemory_policy:noeviction",
				"raft_state:leader", "db0:keys=1,expires=0,avg_ttl=0",
			},
			[]string{"Server", "Clients", "Memory", "Persistence", "Stats", "Replication", "CPU", "Cluster", "Raft", "Keyspace"},
		},
		"one":                  {"INFO REPLICATION", []string{"role:master", "connected_slaves:0"}, []string{"Replication"}},
		"several, and unknown": {"INFO raft nosuch server", []string{"raft_state:leader"}, []string{"Server", "Raft"}},
		"everything":           {"INFO everything", []string{"raft_state:leader"}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, text, _ := strings.Cut(c.do(tt.line), " ")
			lines := strings.Split(text, "\r\n")
			require.Subset(t, lines, tt.want)
			var sections []string
			for _, line := range lines {
				if name, ok := strings.CutPrefix(line, "# "); ok {
					sections = append(sections, name)
				} else if line != "" { // Redisson and others split at the first colon
					require.Contains(t, line, ":")
				}
			}
			if tt.sections != nil {
				require.Equal(t, tt.sections, sections)
			}
		})
	}
}

func TestClientListShowsAllSessions(t *testing.T) {
	_, addr := start(t, Config{})
	first, second := dial(t, addr), dial(t, addr)
	first.do("CLIENT SETNAME first")
	first.do("CLIENT SETINFO lib-name redisson")
	first.do("SELECT 3")
	second.do("SUBSCRIBE a")
	_, text, _ := strings.Cut(first.do("CLIENT LIST"), " ")
	lines := strings.Split(strings.TrimSpace(text), "\n")
	require.Len(t, lines, 2)
	require.Regexp(t, `^id=1 addr=127\.0\.0\.1:\d+ laddr=`+addr+` fd=0 name=first age=0 idle=0 flags=N db=3 sub=0 psub=0 ssub=0 .*`+
		`cmd=client\|list user=default redir=-1 resp=2 lib-name=redisson lib-ver=$`, lines[0])
	require.Regexp(t, `^id=2 .* flags=P db=0 sub=1 .*cmd=subscribe`, lines[1])
	require.Contains(t, first.do("CLIENT LIST TYPE pubsub"), "id=2")
	require.NotContains(t, first.do("CLIENT LIST TYPE pubsub"), "id=1 ")
	require.Contains(t, first.do("CLIENT LIST ID 2"), "id=2")
	require.Contains(t, first.do("CLIENT INFO"), "name=first")
}

// The other helpers of people: what COMMAND says must follow from the table.
func TestCommandFollowsFromTheTable(t *testing.T) {
	_, addr := start(t, Config{})
	c := dial(t, addr)
	require.Equal(t, ":"+strconv.Itoa(len(commands.Standard().Top())), c.do("COMMAND COUNT"))
	require.True(t, strings.HasPrefix(c.do("COMMAND"), "*"+strings.TrimPrefix(c.do("COMMAND COUNT"), ":")+" "))
	require.Contains(t, c.do("COMMAND DOCS get"), "since $5 1.0.0 $5 group $6 string")
	require.Contains(t, c.do("COMMAND DOCS client"), "subcommands")
	require.Contains(t, c.do("COMMAND LIST"), " get")
	require.NotContains(t, c.do("COMMAND LIST FILTERBY ACLCAT pubsub"), " get")
	require.Contains(t, c.do("COMMAND LIST FILTERBY ACLCAT pubsub"), " publish")
}
