package sentinel

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

var start = time.Unix(1_700_000_000, 0)

// settled are faces that have seen a leader.
func settled(lead string) *Faces {
	f := NewFaces(Config{Master: "mymaster", Rules: Rules{}})
	f.Look(everybody(Lead{ID: lead, Epoch: 7, For: time.Minute}), start)
	return f
}

// ask asks the face of an address; the reply is in RESP2, in words.
func ask(t *testing.T, f *Face, line string) string {
	t.Helper()
	words := strings.Fields(line)
	spec, err := f.Table().Lookup(words)
	require.NoError(t, err)
	r, err := spec.Bind(words, 0)
	require.NoError(t, err)
	return strings.TrimSpace(strings.ReplaceAll(string(resp.Append(nil, f.Answer(r), resp.RESP2)), "\r\n", " "))
}

func TestAnswers(t *testing.T) {
	f := settled("b").Face("a:2")
	tests := []struct{ line, want string }{
		{"SENTINEL GET-MASTER-ADDR-BY-NAME mymaster", "*2 $1 b $1 1"},
		{"sentinel get-master-addr-by-name other", "*-1"},
		{"SENTINEL MASTER other", "-" + string(resp.ErrNoSuchMaster)},
		{"SENTINEL SENTINELS other", "-" + string(resp.ErrNoSuchMaster)},
		{"SENTINEL REPLICAS mymaster", "*0"},
		{"SENTINEL SLAVES mymaster", "*0"},
		{"SENTINEL FAILOVER mymaster", "-" + string(resp.ErrNoFailover)},
		{"SENTINEL MYID", "$40 " + runID("a:2")},
		{"SENTINEL CKQUORUM mymaster", "+OK 3 usable Sentinels. Quorum and failover authorization can be reached"},
		{"SENTINEL PENDING-SCRIPTS", "*0"},
		{"SENTINEL IS-MASTER-DOWN-BY-ADDR b 1 0 *", "*3 :0 $1 * :0"},
		{"ROLE", "*2 $8 sentinel *1 $8 mymaster"},
		{"PUBLISH a b", "-" + string(resp.ErrSentinelPublish)},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) { assert.Equal(t, tt.want, ask(t, f, tt.line)) })
	}
}

// fieldsOf reads name and value pairs out of a reply.
func fieldsOf(v resp.Value) map[string]string {
	m := map[string]string{}
	for i := 0; i+1 < len(v.Elems); i += 2 {
		m[v.Elems[i].Str] = v.Elems[i+1].Str
	}
	return m
}

func TestTheMasterIsDescribed(t *testing.T) {
	f := settled("b")
	m := fieldsOf(f.state().describeMaster())
	assert.Equal(t, "mymaster b 1 master 7 0 2 2", strings.Join([]string{
		m["name"], m["ip"], m["port"], m["flags"], m["config-epoch"], m["num-slaves"], m["num-other-sentinels"], m["quorum"],
	}, " "))
	f.Look(everybody(Lead{}), start.Add(time.Second))
	assert.Equal(t, "s_down,o_down,master,disconnected", fieldsOf(f.state().describeMaster())["flags"])
	assert.Equal(t, "-"+string(resp.ErrNoMasterNow), ask(t, f.Face("a:2"), "SENTINEL GET-MASTER-ADDR-BY-NAME mymaster"))
	assert.True(t, strings.HasPrefix(ask(t, f.Face("a:2"), "SENTINEL CKQUORUM mymaster"), "-NOQUORUM 3 usable"))
}

func TestAFaceListsTheOthers(t *testing.T) {
	f := NewFaces(Config{Master: "mymaster"})
	v := everybody(Lead{ID: "b"})
	v.Members[0].Card.Faces = []string{"a:2", "a:3"}
	v.Members[2].Silent = downAfter
	f.Look(v, start)
	var got []string
	for _, other := range f.state().describeOthers("a:2").Elems {
		m := fieldsOf(other)
		got = append(got, m["ip"]+":"+m["port"]+" "+m["flags"])
	}
	assert.Equal(t, []string{"a:3 sentinel", "b:2 sentinel", "c:2 s_down,sentinel,disconnected"}, got)
	assert.Equal(t, 3, f.state().usable())
}

func TestEvents(t *testing.T) {
	f := settled("b")
	assert.Empty(t, f.Look(everybody(Lead{ID: "b"}), start), "nothing has changed")
	assert.Equal(t, []Event{{"+switch-master", "mymaster b 1 c 1"}}, f.Look(everybody(Lead{ID: "c"}), start))

	down := everybody(Lead{ID: "c"})
	down.Members[1].Silent = time.Minute
	about := "sentinel " + runID("b:2") + " b 2 @ mymaster c 1"
	assert.Equal(t, []Event{{"+sdown", about}}, f.Look(down, start))
	assert.Equal(t, []Event{{"-sdown", about}}, f.Look(everybody(Lead{ID: "c"}), start))

	more := everybody(Lead{ID: "c"})
	more.Members = append(more.Members, Member{ID: "e", Card: Card{Data: "e:1", Faces: []string{"e:2"}}})
	assert.Equal(t, []Event{{"+sentinel", "sentinel " + runID("e:2") + " e 2 @ mymaster c 1"}}, f.Look(more, start))
}

func TestWhichProcessIsTheMaster(t *testing.T) {
	for name, tt := range map[string]struct {
		lead string
		addr string
		self bool
	}{
		"this one": {"a", "a:1", true},
		"another":  {"b", "b:1", false},
		"nobody":   {"", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			addr, self := settled(tt.lead).Master()
			assert.Equal(t, tt.addr, addr)
			assert.Equal(t, tt.self, self)
		})
	}
}

// What a Sentinel is not asked for does not exist there, as in Redis.
func TestTableOfTheFace(t *testing.T) {
	table := settled("a").Face("a:2").Table()
	for _, line := range []string{"GET x", "SET a b", "EVAL x 0", "MULTI", "SELECT 1"} {
		_, err := table.Lookup(strings.Fields(line))
		require.Error(t, err, line)
	}
	_, err := table.Lookup([]string{"SENTINEL", "MONITOR"})
	assert.Equal(t, resp.UnknownSubcommand("sentinel", "MONITOR"), err)
	for i, spec := range table.All() {
		assert.Equal(t, i, spec.ID)
		assert.Equal(t, commands.Local, spec.Raft, spec.Name)
	}
}
