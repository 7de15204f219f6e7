package runner

import (
	"strings"

	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/fencing"
	"github.com/redfence/redfence/quorum/tally"
)

// answered reads the answer of a program.
func (r *Result) answered(op Op, s string) (err error) {
	v, rest, err := resp.Decode(s)
	if err != nil || rest != "" || v.Kind != resp.Array {
		return errAnswer
	}
	e := v.Elems
	switch op := op.(type) {
	case *Run:
		r.Answer, err = op.answer(e)
		if err == nil {
			r.Answer.Time = r.Time
		}
	case *Undo:
		r.Undone, err = rows(e, 4, func(e []resp.Value) Undone {
			return Undone{Put: e[0].Int() != 0, Version: version(e[1:]), Exists: e[3].Int() != 0}
		})
	case *Copy:
		r.Copied, err = rows(e, 3, func(e []resp.Value) Copied { return Copied{Done: e[0].Int() != 0, Version: version(e[1:])} })
	case *Fetch:
		r.States, err = rows(e, 8, stateOf)
	case *Scan:
		if len(e) != 3 {
			return errAnswer
		}
		err = r.scanned(e)
	case *Accept, *Admit, *Raise:
		if len(e) != 2 {
			return errAnswer
		}
		r.pair(op, e[0], e[1])
	default:
		err = errAnswer
	}
	return err
}

// pair reads the answers that have two parts.
func (r *Result) pair(op Op, first, second resp.Value) {
	switch op.(type) {
	case *Accept:
		r.Accepted = Accepted{Held: first.Int() != 0, Mark: fencing.Token(second.Int())}
	case *Admit:
		r.Admitted = Admitted{Done: first.Int() != 0, Canary: second.Str}
	}
}

// scanned reads the answer of Scan.
func (r *Result) scanned(e []resp.Value) (err error) {
	r.Scanned.Next = e[0].Str
	if r.Scanned.Keys, err = rows(e[1].Elems, 8, stateOf); err != nil {
		return err
	}
	r.Scanned.Resources, err = rows(e[2].Elems, 3, func(e []resp.Value) Remembered {
		return Remembered{Resource: e[0].Str, Token: fencing.Token(e[1].Int()), TTL: e[2].Int()}
	})
	return err
}

// rows reads a list of rows of n parts.
func rows[T any](e []resp.Value, n int, read func([]resp.Value) T) ([]T, error) {
	if len(e) == 0 {
		return nil, nil
	}
	out := make([]T, len(e))
	for i, row := range e {
		if len(row.Elems) != n {
			return nil, errAnswer
		}
		out[i] = read(row.Elems)
	}
	return out, nil
}

// stateOf reads what lua/states.lua tells.
func stateOf(e []resp.Value) State {
	s := State{
		Key: e[0].Str, Version: version(e[1:]), Mark: fencing.Token(e[3].Int()), Token: fencing.Token(e[4].Int()),
		Exists: e[5].Str != "", Type: e[5].Str, TTL: e[6].Int(),
	}
	for _, part := range e[7].Elems {
		s.Content = append(s.Content, part.Str)
	}
	return s
}

// checked is the result of SCRIPT LOAD.
func checked(reply any) Result {
	err, failed := reply.(error)
	if !failed {
		return Result{Answer: &tally.Answer{Reply: resp.OK(), Ran: true}}
	}
	if r := refusedBy(err.Error()); !r.Ran {
		return r
	}
	return Result{Answer: &tally.Answer{Reply: resp.Err(strings.TrimPrefix(err.Error(), "-")), Ran: true}}
}
