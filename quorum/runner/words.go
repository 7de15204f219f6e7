package runner

import (
	"time"

	"github.com/redfence/redfence/quorum/tally"
)

// words are arguments of a command line.
type words []any

// wordsOf are the arguments of the operations that are not Run, as their programs describe them.
func wordsOf(op Op, at Target) words {
	switch op := op.(type) {
	case *Undo:
		return undoWords(op)
	case *Copy:
		return copyWords(op, at)
	case *Accept:
		return words{op.Key, op.Version.Number, op.Version.Request, int64(op.Token)}
	case *Fetch:
		line := make(words, len(op.Keys))
		for i, key := range op.Keys {
			line[i] = key
		}
		return line
	case *Scan:
		return words{op.Cursor, op.Count}
	case *Admit:
		return words{op.Expect, op.Canary}
	case *Raise:
		line := make(words, 0, 3*len(op.Resources))
		for _, r := range op.Resources {
			line = append(line, r.Resource, int64(r.Token), r.TTL)
		}
		return line
	}
	return nil
}

func undoWords(u *Undo) words {
	line := make(words, 0, 9*len(u.Writes))
	for i := range u.Writes {
		w := &u.Writes[i]
		line = append(line, w.Key, w.After.Number, w.After.Request, w.Before.Number, w.Before.Request,
			flag(w.Existed), w.Image, w.ImageEnd, int64(w.OldToken))
	}
	return line
}

func copyWords(c *Copy, at Target) words {
	var line words
	for i := range c.Keys {
		k := &c.Keys[i]
		kind, parts := k.Type, k.Content
		if !k.Exists {
			kind, parts = "", nil
		}
		line = append(line, k.Key, k.Version.Number, k.Version.Request, int64(k.Mark), int64(k.Token), kind, endOf(k.State, at))
		if k.Expect != nil {
			line = append(line, k.Expect.Number, k.Expect.Request)
		} else {
			line = append(line, "", "")
		}
		line = append(line, int64(k.Instance), flag(k.Absent), flag(k.Again), len(parts))
		for _, part := range parts {
			line = append(line, part)
		}
	}
	return line
}

// endOf is the instant in ms of a node's clock at which a copy ends: no later than its source.
func endOf(s State, at Target) int64 {
	if s.TTL == tally.Forever {
		return tally.Forever
	}
	passed := max(at.Now-s.Since, 0)
	return at.Clock + s.TTL - int64((passed+time.Millisecond-1)/time.Millisecond)
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}
