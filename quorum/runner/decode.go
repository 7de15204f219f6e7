package runner

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/fencing"
	"github.com/redfence/redfence/quorum/tally"
)

// errAnswer is the cause when a node's answer is none that a program gives.
var errAnswer = errors.New("answer not understood")

// Decode reads a node's reply to the command line of an operation, as a client library gives it: nil, int64, string,
// []any or error.
func Decode(op Op, reply any) Result {
	if _, ok := op.(*Check); ok {
		return checked(reply)
	}
	switch reply := reply.(type) {
	case error:
		return refusedBy(reply.Error())
	case string:
		return decodeAnswer(op, reply)
	}
	return broken(fmt.Errorf("%w: a %T", errAnswer, reply))
}

// refusedBy is the result when the node answered an error in the place of the program.
func refusedBy(text string) Result {
	code, _, _ := strings.Cut(text, " ")
	if slices.Contains(nodeErrors, code) {
		return Result{Reason: tally.Reason(text)}
	}
	return Result{Reason: tally.Reason("program failed: " + text), Ran: true}
}

func broken(err error) Result { return Result{Reason: tally.Reason(err.Error()), Ran: true} }

// decodeAnswer reads what lua/gate.lua and the programs answer: a letter, the node's time in µs, a blank, the rest.
func decodeAnswer(op Op, s string) Result {
	if run, ok := op.(*Run); ok && strings.HasPrefix(s, "a") && run.build().isLean {
		return run.leanResult(s[1:])
	}
	head, rest, ok := strings.Cut(s, " ")
	if !ok || head == "" {
		return broken(errAnswer)
	}
	us, err := strconv.ParseInt(head[1:], 10, 64)
	if err != nil {
		return broken(errAnswer)
	}
	r := Result{Time: time.Duration(us) * time.Microsecond}
	switch head[0] {
	case 'A':
		err = r.answered(op, rest)
	case 'V':
		r.Void, r.Canary, r.Reason = true, rest, "may have forgotten"
	case 'L':
		r.Late, r.Reason = true, "too late"
	case 'N':
		r.Reason = tally.Reason(rest)
	default:
		err = errAnswer
	}
	if err != nil {
		return broken(err)
	}
	return r
}

// answer reads what lua/run.lua answers.
func (r *Run) answer(e []resp.Value) (a *tally.Answer, err error) {
	if len(e) != 7 {
		return nil, errAnswer
	}
	is := e[1].Int()
	a = &tally.Answer{Reply: r.located(r.shape(e[0])), IsTTL: is&1 != 0, IsToken: is&2 != 0, Checks: is&4 != 0, Ran: true}
	if a.Writes, err = rows(e[2].Elems, 10, r.write); err != nil {
		return nil, err
	}
	if a.Seen, err = rows(e[3].Elems, 4, seen); err != nil {
		return nil, err
	}
	r.extras(a, e[4].Elems, e[5].Elems, e[6].Elems)
	return a, nil
}

func seen(e []resp.Value) tally.Seen {
	return tally.Seen{Key: e[0].Str, Version: version(e[1:]), Exists: e[3].Int() != 0}
}

// extras are the parts of an answer that most have not.
func (r *Run) extras(a *tally.Answer, ttls, messages, ready []resp.Value) {
	for i := 0; i+1 < len(ttls); i += 2 {
		a.TTLs = append(a.TTLs, tally.Reading{DB: r.Requests[0].DB, Key: ttls[i].Str, TTL: ttls[i+1].Int()})
	}
	for i := 0; i+2 < len(messages); i += 3 {
		a.Messages = append(a.Messages,
			commands.Message{Channel: messages[i].Str, Payload: messages[i+1].Str, Shard: messages[i+2].Int() != 0})
	}
	for _, k := range ready {
		a.Ready = append(a.Ready, k.Str)
	}
}

// The marks of a write, see settle in lua/run.lua.
const (
	markExisted = 1 << iota
	markExists
	markFresh
	markEnded
	markRenewal
	markUnchanged
	markShortened
)

func (r *Run) write(e []resp.Value) tally.Write {
	marks := e[3].Int()
	before, hold := version(e[1:]), fencing.Token(e[7].Int())
	return tally.Write{
		Key: e[0].Str, Before: before, After: before.Next(r.ID),
		Existed: marks&markExisted != 0, Exists: marks&markExists != 0, State: e[4].Str, TTL: e[5].Int(),
		Token: fencing.Token(e[6].Int()), Fresh: marks&markFresh != 0,
		Ended: marks&markEnded != 0, Renewal: marks&markRenewal != 0, Unchanged: marks&markUnchanged != 0,
		Shortened: marks&markShortened != 0,
		Image:     e[8].Str, ImageEnd: e[9].Int(), OldToken: hold,
	}
}

// located puts lines into the errors of scripts.
func (r *Run) located(v resp.Value) resp.Value {
	if r.Text != nil {
		return r.Text.located(v)
	}
	for i := range r.Texts {
		if t := r.textOf(i); t != nil && i < len(v.Elems) {
			v.Elems[i] = t.located(v.Elems[i])
		}
	}
	return v
}

// located puts the line into the error of a script whose last call was in tail position, which leaves no trace on the
// node. The line is that of the call, the first one if there are several like it.
func (t *Text) located(v resp.Value) resp.Value {
	const unknown = "@user_script:0."
	if !v.IsErr() || !strings.HasSuffix(v.Str, unknown) {
		return v
	}
	return resp.Err(strings.TrimSuffix(v.Str, unknown) + "@user_script:" + strconv.Itoa(t.tailCall) + ".")
}

// version reads a number and an id.
func version(e []resp.Value) tally.Version {
	return tally.Version{Number: uint64(e[0].Int()), Request: e[1].Str}
}
