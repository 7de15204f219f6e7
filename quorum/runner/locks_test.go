package runner

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/quorum/tally"
)

// sendMany makes the node execute operations in one call.
func (n *node) sendMany(m *Memory, at Target, ops ...Op) []Result {
	n.t.Helper()
	words := 0
	for _, op := range ops {
		require.True(n.t, Joins(op))
		words += LockWords(op)
	}
	line, asked := BeginLocks(nil, words), make([]Asked, len(ops))
	for i, op := range ops {
		line, asked[i] = AddLock(line, op, m)
	}
	require.NoError(n.t, n.c.ScriptLoad(n.t.Context(), Locks().Text).Err())
	reply := n.raw(wordsOfLine(n.t, EndLocks(line, at))...)
	results := make([]Result, len(ops))
	for i := range ops {
		results[i] = DecodeLock(ops[i], reply, i, asked[i], m)
	}
	return results
}

// wordsOfLine are the words of a command line as it is written to a node.
func wordsOfLine(t testing.TB, line []byte) (words []any) {
	t.Helper()
	v, rest, err := resp.Decode(string(line))
	require.NoError(t, err)
	require.Empty(t, rest)
	for _, e := range v.Elems {
		words = append(words, e.Str)
	}
	return words
}

// TestManyAgree runs random requests on two nodes, on one many at a time and on the other one by one.
func TestManyAgree(t *testing.T) {
	many, single := newNode(t), newNode(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test
	joined := 0
	var m Memory
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
		for i, result := range many.sendMany(&m, Target{}, ops...) {
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

func TestACallThatIsRefused(t *testing.T) {
	n := newNode(t)
	set := func(id, key string) *Run { return runOf(t, id, "SET", key, "me", "NX", "PX", "30000") }
	for i, r := range n.sendMany(nil, Target{Deadline: 1}, set("a", "a"), set("b", "b")) {
		assert.True(t, r.Late, i)
		assert.NotZero(t, r.Time)
	}
	for i, r := range n.sendMany(nil, Target{Canary: "other"}, set("a", "a"), set("b", "b")) {
		assert.True(t, r.Void, i)
	}
	assert.Equal(t, int64(0), n.raw("EXISTS", "a", "b"))
}

// TestOneOfManyFails has an operation in the middle fail: the others are not affected.
func TestOneOfManyFails(t *testing.T) {
	n := newNode(t)
	n.raw("RPUSH", Companion+"b", "no string")
	set := func(id, key string) *Run { return runOf(t, id, "SET", key, "me", "NX", "PX", "30000") }
	results := n.sendMany(nil, Target{}, set("a", "a"), set("b", "b"), set("c", "c"))
	assert.Len(t, results[0].Answer.Writes, 1)
	assert.NotEmpty(t, results[1].Reason)
	assert.True(t, results[1].Ran)
	assert.Len(t, results[2].Answer.Writes, 1)
}

// TestWhatIsBelievedIsCompared has a second proxy write between the operations of the first, and keys end.
func TestWhatIsBelievedIsCompared(t *testing.T) {
	n := newNode(t)
	var one, two Memory
	take := func(m *Memory, id string) tally.Write {
		return n.sendMany(m, Target{}, runOf(t, id, "SET", "k", "me", "NX", "PX", "30000"))[0].Answer.Writes[0]
	}
	release := func(m *Memory, id string) tally.Write {
		return n.sendMany(m, Target{}, runOf(t, id, "EVAL", lockScripts["redis.io"].text, "1", "k", "me"))[0].Answer.Writes[0]
	}
	last := tally.Write{}
	for i := range 20 {
		m := []*Memory{&one, &two}[i/3%2]
		w := take(m, "take"+strconv.Itoa(i))
		assert.Equal(t, last.After, w.Before)
		assert.Greater(t, w.Token, last.Token)
		last = w
		state := n.fetch("k")
		assert.Equal(t, w.After, state.Version)
		assert.Equal(t, w.Token, state.Token)
		if i%5 == 4 {
			n.raw("DEL", "k") // somebody who talks to the nodes directly
			continue
		}
		w = release([]*Memory{&one, &two}[i%2], "release"+strconv.Itoa(i))
		assert.Equal(t, last.After, w.Before)
		assert.Equal(t, last.Token, w.OldToken)
		last.After = w.After
		assert.Equal(t, w.After, n.fetch("k").Version)
	}
}
