package raftstore

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/raftstore/entry"
	"github.com/redfence/redfence/raftstore/script"
)

// fuzzScripts are what FuzzMachine runs beside commands: locks, errors half way, budgets, everything that could differ
// from run to run.
var fuzzScripts = []string{
	"if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0",
	"redis.call('HINCRBY', KEYS[1], ARGV[1], 1) redis.call('PEXPIRE', KEYS[1], 9) return redis.call('FENCE', KEYS[1])",
	"redis.call('SET', KEYS[1], ARGV[1]) return redis.call('HGET', KEYS[1], 'f')",
	"redis.call('SET', KEYS[1], 'x') while true do end",
	"local s = ARGV[1] while true do s = s .. s redis.call('RPUSH', KEYS[1], s) end",
	"return {redis.call('TIME'), math.random(), redis.call('KEYS', '*'), redis.pcall('ZADD', KEYS[1], 1, ARGV[1])}",
	"redis.call('DEL', 'a') redis.call('APPEND', KEYS[1], ARGV[1]) redis.call('PUBLISH', 'channel', ARGV[1]) return redis.status_reply('yes')",
	"#!lua flags=allow-oom\nredis.call('SELECT', 1) return redis.call('SADD', KEYS[1], ARGV[1], 'text')",
	"redis.setresp(3) return cjson.encode(redis.call('HGETALL', KEYS[1]))",
	"syntax error",
	"return {redis.call('FENCE.CHECK', KEYS[1], 1 + ARGV[1]), redis.call('FENCE.LAST', KEYS[1])}",
}

var fuzzLines = []string{
	"SET a 1 NX PX 5", "SET a other", "SET b 22 PX 3", "GET a", "DEL a b", "PTTL b", "FENCE a", "HSET h f 1 g 2", "HINCRBY h f -1", "HDEL h f g",
	"RPUSH l x y", "LPOP l", "SADD s 1 2", "SPOP s", "ZADD z 1 m", "ZPOPMIN z", "PEXPIRE a 2", "PEXPIRE h 4", "RENAME a b", "COPY l k REPLACE",
	"FLUSHALL", "SWAPDB 0 1", "PUBLISH channel m", "SCRIPT FLUSH", "RANDOMKEY", "WATCH a h", "APPEND b xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
	"FENCE.CHECK r 5", "FENCE.CHECK r 6", "FENCE.CHECK a 4", "FENCE.LAST r",
}

// fuzzLog turns bytes into log entries.
type fuzzLog struct {
	data      []byte
	now, wall int64
}

func (l *fuzzLog) byte() int {
	if len(l.data) == 0 {
		return 0
	}
	b := l.data[0]
	l.data = l.data[1:]
	return int(b)
}

func (l *fuzzLog) line() []string {
	choice := l.byte() % (len(fuzzLines) + 3*len(fuzzScripts))
	if choice < len(fuzzLines) {
		return strings.Fields(fuzzLines[choice])
	}
	choice -= len(fuzzLines)
	text := fuzzScripts[choice%len(fuzzScripts)]
	key, arg := string(rune('a'+l.byte()%4)), string(rune('0'+l.byte()%4))
	switch choice / len(fuzzScripts) {
	case 0:
		return []string{"EVAL", text, "1", key, arg}
	case 1:
		return []string{"EVALSHA", script.SHA1Hex(text), "1", key, arg}
	}
	return []string{"SCRIPT", "LOAD", text}
}

func (l *fuzzLog) call() *commands.Call {
	shape := l.byte()
	c := &commands.Call{Block: shape%4 == 0}
	lines := 1
	if c.Block {
		lines = shape / 4 % 4
	}
	if c.Block && shape >= 128 {
		c.Watched = []commands.Watch{{DB: shape % 2, Key: "a", Since: uint64(l.byte()), Present: l.byte()%2 == 0}}
	}
	for range lines {
		c.Requests = append(c.Requests, &commands.Request{DB: l.byte() % 2, Args: l.line()})
	}
	return c
}

func (l *fuzzLog) entry() []byte {
	l.now += int64(l.byte() % 4)
	l.wall += int64(l.byte()) * 100
	h := entry.Header{Now: l.now, Wall: l.wall}
	if l.byte()%4 == 3 {
		h.MaxMemory = 800 // a few keys
		h.FenceMemory = 5
	}
	var calls []*commands.Call
	for range 1 + l.byte()%3 {
		calls = append(calls, l.call())
	}
	if l.byte()%2 == 0 {
		return entry.Append(nil, h, calls)
	}
	ids := make([]entry.ID, len(calls))
	for i := range ids {
		ids[i] = entry.ID{From: l.byte() % 3, Seq: uint64(1 + l.byte()%8)} // some come again
	}
	origins := []entry.Origin{{Name: "a", Acked: uint64(l.byte() % 4)}, {Name: "b"}}
	return entry.AppendNamed(nil, h, origins, calls, ids)
}

// recorder keeps what subscribers would be told.
type recorder struct {
	noSink
	told []commands.Message
}

func (r *recorder) Message(m commands.Message) int {
	r.told = append(r.told, m)
	return 0
}

// FuzzMachine applies random log entries, with blocks, scripts and a limit of memory, to two machines, one of which is
// replaced by what a snapshot of it restores at random points. Replies, publications and states must be the same.
func FuzzMachine(f *testing.F) {
	for i := range len(fuzzLines) + 3*len(fuzzScripts) {
		single := []byte{1, 1, 0, 1, 1, 0, byte(i), 1, 1, 1, 0, byte(i), 2, 1}
		block := []byte{1, 1, 3, 0, 12, 0, 1, 0, byte(i), 1, 1, 1, byte(i), 0, 0}
		f.Add(append(slices.Clone(single), single...))
		f.Add(append(slices.Clone(block), single...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		limits := script.DefaultLimits()
		limits.Steps, limits.Memory = 2000, 64<<10
		log, one, two := &fuzzLog{data: data}, newMachine(limits), newMachine(limits)
		for range 50 {
			if len(log.data) == 0 {
				break
			}
			if log.byte()%4 == 3 {
				two = throughSnapshot(t, two, limits)
			}
			e, err := entry.Decode(log.entry())
			if err != nil {
				t.Fatal(err)
			}
			a, b := applied(one, e), applied(two, e)
			if a != b {
				t.Fatalf("%+v: %q, then %q", e, a, b)
			}
			if one.ks.Used() != two.ks.Used() || !bytes.Equal(stateOf(t, one), stateOf(t, two)) {
				t.Fatalf("%+v: the states differ", e)
			}
		}
	})
}

// applied is what an entry answers and publishes.
func applied(m *machine, e entry.Entry) string {
	var sink recorder
	var all []byte
	w := bound(e)
	for _, v := range m.apply(&w, &sink) {
		all = resp.Append(all, v, resp.RESP3)
	}
	for _, message := range sink.told {
		all = append(all, message.Channel+" "+message.Payload+"\n"...)
	}
	return string(all)
}

func stateOf(t *testing.T, m *machine) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := m.view().writeTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func throughSnapshot(t *testing.T, m *machine, limits script.Limits) *machine {
	t.Helper()
	fresh := newMachine(limits)
	if err := fresh.restore(bytes.NewReader(stateOf(t, m))); err != nil {
		t.Fatal(err)
	}
	return fresh
}
