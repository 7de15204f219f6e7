package runner

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

// TestResources says what a node remembers of resources, and that it only goes up.
func TestResources(t *testing.T) {
	n := newNode(t)
	for _, tt := range []struct {
		line []string
		want resp.Value
	}{
		{[]string{"FENCE.LAST", "r"}, resp.Value{}},
		{[]string{"FENCE.CHECK", "r", "100"}, resp.Int(1)},
		{[]string{"FENCE.CHECK", "r", "99"}, resp.Int(0)},
		{[]string{"FENCE.CHECK", "r", "9007199254740991"}, resp.Int(1)},
		{[]string{"FENCE.LAST", "r"}, resp.Int(9007199254740991)},
		{[]string{"EVAL", "return redis.call('FENCE.CHECK', 's', 1796000000000001)", "0"}, resp.Int(1)},
		{[]string{"EVAL", "return redis.call('FENCE.LAST', 's')", "0"}, resp.Int(1796000000000001)},
		{[]string{"EVAL", "return redis.call('FENCE.LAST', 'none')", "0"}, resp.Value{}},
		{[]string{"EVAL", "return redis.pcall('FENCE.CHECK', 's', '1.5').err", "0"}, resp.Str(string(resp.ErrToken))},
		{[]string{"EVAL_RO", "return redis.pcall('FENCE.CHECK', 's', 5).err", "0"}, resp.Str(string(resp.ErrScriptReadOnly))},
		{[]string{"KEYS", "*"}, resp.Arr()},
		{[]string{"DBSIZE"}, resp.Int(0)},
	} {
		assert.Equal(t, show(tt.want), show(n.reply(tt.line...)), "%q", tt.line)
	}
	answer := n.run("FENCE.CHECK", "r", "9007199254740991").Answer
	assert.True(t, answer.Checks)
	assert.Empty(t, answer.Writes, "nothing is put back")
	assert.InDelta(t, commands.FenceMemory.Milliseconds(), n.c.PTTL(t.Context(), "__redfence__fence:r").Val().Milliseconds(), 60_000)
}

func show(v resp.Value) string { return string(resp.Append(nil, v, resp.RESP3)) }

// TestRaise copies what one node remembers to another, by way of a scan.
func TestRaise(t *testing.T) {
	from, to := newNode(t), newNode(t)
	short := &Run{ID: "short", Requests: []*commands.Request{bind(t, "FENCE.CHECK", "low", "7")}, Wall: testWall, Memory: time.Hour}
	assert.Empty(t, from.send(short, Target{}).Reason)
	from.reply("FENCE.CHECK", "high", "900")
	to.reply("FENCE.CHECK", "high", "901")
	scanned := from.send(&Scan{Cursor: "0", Count: 100}, Target{}).Scanned
	assert.Len(t, scanned.Resources, 2)
	assert.Empty(t, scanned.Keys)
	assert.Empty(t, to.send(&Raise{Resources: scanned.Resources}, Target{}).Reason)
	assert.Equal(t, int64(7), to.reply("FENCE.LAST", "low").Int())
	assert.Equal(t, int64(901), to.reply("FENCE.LAST", "high").Int(), "a lower token is not copied")
	left := to.c.PTTL(t.Context(), "__redfence__fence:low").Val()
	assert.LessOrEqual(t, left, time.Hour)
	assert.Greater(t, left, 50*time.Minute)
}
