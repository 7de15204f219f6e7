package runner

import (
	"crypto/sha1" //nolint:gosec // the name that Redis gives a script, not a safeguard
	"encoding/hex"
	"time"

	"github.com/redfence/redfence/quorum/tally"
)

// Program is a script that nodes run. It is loaded into a node (SCRIPT LOAD) before its first use there.
type Program struct {
	Text string
	SHA  string // SHA1 of Text, as EVALSHA takes it
}

func newProgram(text string) *Program { return &Program{Text: text, SHA: sha(text)} }

// sha is the name that Redis gives a script (https://redis.io/docs/latest/commands/script-load/).
func sha(text string) string {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:])
}

// Result is what a node answered to an operation.
type Result struct {
	Reason tally.Reason // not empty: no answer, for this reason
	Ran    bool         // without an answer: the node may have executed it, or may still do so
	Void   bool         // the canary was another one, so nothing was executed: the node may have forgotten
	Late   bool         // the deadline had passed, so nothing was executed
	Canary string       // of the node, when Void
	Time   time.Duration

	// One of these, by the kind of operation.
	Answer   *tally.Answer // Run, Check
	Undone   []Undone
	Copied   []Copied
	Accepted Accepted
	States   []State
	Scanned  Scanned
	Admitted Admitted
}
