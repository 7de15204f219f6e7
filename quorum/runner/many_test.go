package runner

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sendMany makes the node execute operations in one call.
func (n *node) sendMany(ops []Op, at Target) []Result {
	n.t.Helper()
	line := BeginMany(nil)
	for _, op := range ops {
		require.True(n.t, Joins(op))
		line = AddMany(line, op, at)
	}
	require.NoError(n.t, n.c.ScriptLoad(n.t.Context(), Many().Text).Err())
	replies, ok := n.raw(EndMany(line, at)...).([]any)
	require.True(n.t, ok)
	require.Len(n.t, replies, len(ops))
	results := make([]Result, len(ops))
	for i, reply := range replies {
		results[i] = Decode(ops[i], reply)
	}
	return results
}

// TestManyAgree runs random requests on two nodes, on one many at a time and on the other one by one.
func TestManyAgree(t *testing.T) {
	many, single := newNode(t), newNode(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test
	joined := 0
	for round := range 200 {
		var ops []Op
		var lines [][]string
		for i := range 20 {
			if line := randomLine(r); Joins(runOf(t, "", line...)) {
				lines = append(lines, line)
				ops = append(ops, runOf(t, "req"+strconv.Itoa(round)+"."+strconv.Itoa(i), line...))
			}
		}
		if round%3 == 0 { // somebody who talks to the nodes directly
			require.Equal(t, many.raw("RPUSH", "d", "foreign"), single.raw("RPUSH", "d", "foreign"))
		}
		if len(ops) == 0 {
			continue
		}
		joined += len(ops)
		for i, result := range many.sendMany(ops, Target{}) {
			run, _ := ops[i].(*Run)
			alone := single.send(runOf(t, run.ID, lines[i]...), Target{})
			require.Empty(t, result.Reason, "%q", lines[i])
			requireSameAnswer(t, alone.Answer, result.Answer, "round %d: %q", round, lines[i])
		}
		for _, key := range leanKeys {
			requireSameState(t, single.fetch(key), many.fetch(key), "round %d", round)
		}
	}
	assert.Greater(t, joined, 1000)
}

func TestManyRefuseEachOnItsOwn(t *testing.T) {
	n := newNode(t)
	set := func(id, key string) *Run { return runOf(t, id, "SET", key, "me", "NX", "PX", "30000") }
	line := AddMany(BeginMany(nil), set("late", "a"), Target{Deadline: 1})
	line = AddMany(line, set("in-time", "b"), Target{})
	require.NoError(t, n.c.ScriptLoad(t.Context(), Many().Text).Err())
	replies, ok := n.raw(EndMany(line, Target{})...).([]any)
	require.True(t, ok)
	assert.True(t, Decode(set("late", "a"), replies[0]).Late)
	assert.Len(t, Decode(set("in-time", "b"), replies[1]).Answer.Writes, 1)
	assert.Equal(t, int64(1), n.raw("EXISTS", "a", "b"))

	other := EndMany(AddMany(BeginMany(nil), set("void", "c"), Target{}), Target{Canary: "other"})
	assert.True(t, Decode(set("void", "c"), n.raw(other...)).Void)
	assert.Equal(t, int64(0), n.raw("EXISTS", "c"))
}
