package keyspace

import (
	"crypto/sha1" //nolint:gosec // the name that Redis gives a script, not a safeguard
	"encoding/hex"
	"slices"
	"strings"

	"github.com/tidwall/btree"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
)

// evalScripts is how many scripts that only came by EVAL are remembered, as in Redis 7.4; the oldest goes first.
// Those of SCRIPT LOAD stay until SCRIPT FLUSH.
const evalScripts = 500

// scripts are the texts that EVALSHA can run. They are part of the replicated state, so a script that one node
// loaded is known to all of them.
type scripts struct {
	bySHA  *btree.Map[string, string]
	byEval []string // SHA1s that came by EVAL only, oldest first
	bytes  int64    // what the texts count for, see Keyspace.Used
}

func newScripts() scripts { return scripts{bySHA: new(btree.Map[string, string])} }

// clone returns a copy whose changes do not show in s. It is cheap for any number of scripts.
func (s scripts) clone() scripts { return scripts{s.bySHA.Copy(), slices.Clone(s.byEval), s.bytes} }

// add puts a text and tells whether it was there already.
func (s *scripts) add(sha, text string) (twice bool) {
	_, twice = s.bySHA.Set(sha, text)
	if !twice {
		s.bytes += int64(keyBytes + len(text))
	}
	return twice
}

func scriptHandlers() map[string]handler {
	return map[string]handler{
		"script|load":   scriptLoad,
		"script|exists": scriptExists,
		"script|flush":  scriptFlush,
		"script|help":   func(*Txn, *commands.Request) resp.Value { return statusLines(commands.ScriptHelp) },
	}
}

// SHA1 is the name of a script: the SHA1 of its text in lower-case hexadecimal.
func SHA1(text string) string {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:])
}

// Script returns the text of a loaded script.
func (t *Txn) Script(sha string) (string, bool) { return t.ks.scripts.bySHA.Get(sha) }

// Remember makes a script that came by EVAL known to EVALSHA.
func (t *Txn) Remember(sha, text string) {
	s := &t.ks.scripts
	if _, known := s.bySHA.Get(sha); known {
		return
	}
	if !t.keepAll() {
		return
	}
	if len(s.byEval) == evalScripts {
		oldest, _ := s.bySHA.Delete(s.byEval[0])
		s.bytes -= int64(keyBytes + len(oldest))
		s.byEval = slices.Delete(s.byEval, 0, 1)
	}
	s.add(sha, strings.Clone(text))
	s.byEval = append(s.byEval, sha)
}

func scriptLoad(t *Txn, r *commands.Request) resp.Value {
	s, sha := &t.ks.scripts, SHA1(r.Args[2])
	_, known := s.bySHA.Get(sha)
	at := slices.Index(s.byEval, sha)
	if known && at < 0 {
		return resp.Str(sha)
	}
	if !t.keepAll() {
		return resp.Str(sha)
	}
	if at >= 0 {
		s.byEval = slices.Delete(s.byEval, at, at+1)
	}
	if !known {
		s.add(sha, strings.Clone(r.Args[2]))
	}
	return resp.Str(sha)
}

func scriptExists(t *Txn, r *commands.Request) resp.Value {
	found := make([]resp.Value, 0, len(r.Args)-2)
	for _, sha := range r.Args[2:] {
		_, ok := t.Script(strings.ToLower(sha))
		found = append(found, resp.BoolInt(ok))
	}
	return resp.Arr(found...)
}

func scriptFlush(t *Txn, r *commands.Request) resp.Value {
	if len(r.Args) > 3 || (len(r.Args) == 3 && !args.FlushMode(r.Args[2])) {
		return resp.ErrScriptFlush.Value()
	}
	if t.ks.scripts.bySHA.Len() == 0 {
		return resp.OK()
	}
	if t.keepAll() {
		t.ks.scripts = newScripts()
	}
	return resp.OK()
}
