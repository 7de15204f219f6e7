package args

import (
	"strings"

	"github.com/redfence/redfence/commands/resp"
)

// Wait parses WAIT numreplicas timeout, and returns the number of replicas that is waited for.
func Wait(line []string) (int64, error) {
	n, err := Int(line[1])
	if err != nil {
		return 0, err
	}
	return max(n, 0), checkTimeout(line[2])
}

// Durability is what WAITAOF waits for.
type Durability struct {
	Local    int64 // 1 when this server's disk counts, else 0
	Replicas int64
}

// WaitAOF parses WAITAOF numlocal numreplicas timeout.
func WaitAOF(line []string) (Durability, error) {
	var d Durability
	var err error
	if d.Local, err = IntBetween(line[1], 0, 1); err != nil {
		return d, err
	}
	if d.Replicas, err = Int(line[2]); err == nil && d.Replicas < 0 {
		err = resp.ErrNotPositive
	}
	if err != nil {
		return d, err
	}
	return d, checkTimeout(line[3])
}

// checkTimeout accepts a time-out in ms that is not negative.
func checkTimeout(word string) error {
	ms, err := Int(word)
	switch {
	case err != nil:
		return resp.ErrBadTimeout
	case ms < 0:
		return resp.ErrNegativeTimeout
	}
	return nil
}

// CommandFilter says which commands COMMAND LIST returns.
type CommandFilter struct {
	By    string // "", "MODULE", "ACLCAT" or "PATTERN"
	Value string
}

// CommandList parses COMMAND LIST [FILTERBY MODULE name | ACLCAT category | PATTERN pattern].
func CommandList(line []string) (CommandFilter, error) {
	if len(line) == 2 {
		return CommandFilter{}, nil
	}
	if len(line) != 5 || !strings.EqualFold(line[2], "FILTERBY") {
		return CommandFilter{}, resp.ErrSyntax
	}
	f := CommandFilter{By: strings.ToUpper(line[3]), Value: line[4]}
	if f.By != "MODULE" && f.By != "ACLCAT" && f.By != "PATTERN" {
		return CommandFilter{}, resp.ErrSyntax
	}
	return f, nil
}
