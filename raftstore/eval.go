package raftstore

import (
	"strings"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/raftstore/keyspace"
	"github.com/redfence/redfence/raftstore/script"
)

// isScript tells whether a request runs a script, which is the machine's work and not the keyspace's.
func isScript(s *commands.Spec) bool {
	return s.Group == commands.Scripting && s.Keys.Num > 0
}

// checksText tells whether a request brings a text that must compile before the keyspace may remember it.
func checksText(s *commands.Spec) bool { return s.Name == "script|load" }

// eval runs EVAL, EVALSHA and their read-only forms (https://redis.io/docs/latest/commands/eval/). A script is one
// step of the transaction: over its budget, all that it did is taken back; after an ordinary error its earlier
// writes stay, as in Redis.
func (m *machine) eval(t *keyspace.Txn, r *commands.Request) (resp.Value, script.Outcome) {
	opts, _ := r.Opts.(args.EvalOptions)
	sha, text, err := m.scriptOf(t, r)
	if err != nil {
		return resp.ReplyFor(err), script.Failed
	}
	if t.Undecided() {
		return resp.Value{}, script.Stopped // a new script: only the log may remember it
	}
	flags, _ := script.Flags(text) // it compiles, so they are right
	if flags.Declared && !flags.NoWrites && r.Spec.Flags.Has(commands.ReadOnly) {
		return resp.ErrScriptMayWrite.Value(), script.Failed
	}
	mark := t.Mark()
	c := m.newCaller(t, r, flags, mark)
	m.says.begin(sha)
	v, out := m.engine.Run(script.Invocation{
		SHA: sha, Text: text, Keys: opts.Keys, Args: opts.Argv, Caller: c, Log: m.says.listen,
	})
	if c.exceeded {
		out = script.OverBudget
	}
	switch {
	case out == script.OverBudget:
		t.Rollback(mark)
	case c.ration.exceeded(m.ks.Used()):
		t.Rollback(mark)
		return resp.ErrOOM.Value(), script.Failed
	}
	return v, out
}

// scriptOf returns the script of a request. The text of an EVAL is remembered for EVALSHA.
func (m *machine) scriptOf(t *keyspace.Txn, r *commands.Request) (sha, text string, err error) {
	if strings.HasPrefix(r.Spec.Name, "evalsha") {
		sha = strings.ToLower(r.Args[1])
		text, ok := t.Script(sha)
		if !ok {
			return "", "", resp.ErrNoScript
		}
		return sha, text, nil
	}
	text = r.Args[1]
	sha = script.SHA1Hex(text)
	if _, known := t.Script(sha); known {
		return sha, text, nil
	}
	if err := m.engine.Check(text); err != nil {
		return "", "", resp.Failure(err.Error())
	}
	if !t.Full() { // else it still runs, since it may be a release
		t.Remember(sha, text)
	}
	return sha, text, nil
}

// caller runs the commands of one script.
type caller struct {
	t        *keyspace.Txn
	db       int
	readOnly bool
	wasted   int   // calls since the dry transaction became undecided
	mayWrite int64 // what t.Written must not go over
	mayVisit int64 // elements of collections that its commands may still go through
	exceeded bool  // one of the two was
	ration   ration
}

// wastedCalls is how many commands a script may still call once it is clear that only the log can tell what they
// do. Most scripts end within a few, and to end is cheaper than to be unwound.
const wastedCalls = 256

func (m *machine) newCaller(t *keyspace.Txn, r *commands.Request, flags script.FlagSet, start keyspace.Mark) *caller {
	return &caller{
		t: t, db: r.DB, readOnly: flags.NoWrites || r.Spec.Flags.Has(commands.ReadOnly),
		mayWrite: t.Written() + m.limits.Memory, mayVisit: m.limits.Steps, ration: m.ration(t, start, flags.AllowOOM),
	}
}

// Call implements script.Caller. It stops a script whose commands copy or go through more than a script may use, and a
// dry one that goes on for long.
func (c *caller) Call(line []string) (resp.Value, bool) {
	v := c.run(line)
	switch {
	case c.t.Written() > c.mayWrite:
		c.exceeded = true
		return resp.ErrScriptWrites.Value(), true
	case c.mayVisit < 0:
		c.exceeded = true
		return resp.ErrScriptVisits.Value(), true
	}
	if c.t.Undecided() {
		c.wasted++
	}
	return v, c.wasted > wastedCalls
}

func (c *caller) run(line []string) resp.Value {
	spec, err := commands.Lookup(line)
	switch {
	case err != nil:
		return resp.ErrScriptUnknown.Value()
	case !spec.Accepts(len(line)):
		return resp.ErrScriptArity.Value()
	case spec.Flags.Has(commands.NoScript):
		return resp.ErrScriptForbidden.Value()
	case c.readOnly && spec.Flags.Has(commands.Write):
		return resp.ErrScriptReadOnly.Value()
	}
	r, err := spec.Bind(line, c.db)
	if err != nil {
		return resp.ReplyFor(err)
	}
	if spec.Raft == commands.Local {
		return c.local(r)
	}
	if !spec.Flags.Has(commands.Fast) {
		c.mayVisit -= c.t.Elements(r.Keys())
	}
	if c.mayVisit < 0 {
		return resp.Value{} // Call ends the script
	}
	v := c.t.Exec(r)
	c.ration.after()
	return v
}

// local answers the few commands of the session layer that make sense inside a script.
func (c *caller) local(r *commands.Request) resp.Value {
	switch r.Spec.Name {
	case "select":
		return c.selectDB(r.Args[1])
	case "time":
		return commands.TimeReply(c.t.Stamp().Wall)
	case "ping":
		if len(r.Args) > 1 {
			return resp.Str(r.Args[1])
		}
		return resp.Status("PONG")
	case "echo":
		return resp.Str(r.Args[1])
	}
	return resp.ErrScriptForbidden.Value()
}

// selectDB changes the database for the rest of the script only.
func (c *caller) selectDB(arg string) resp.Value {
	n, err := args.Int(arg)
	if err != nil {
		return resp.ReplyFor(err)
	}
	if n < 0 || n >= keyspace.Databases {
		return resp.ErrDBIndex.Value()
	}
	c.db = int(n)
	c.t.Select(c.db)
	return resp.OK()
}
