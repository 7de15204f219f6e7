package linear

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// Look is one operation on what a resource has seen: FENCE.CHECK with a token, or FENCE.LAST when Asked is 0.
type Look struct {
	Client int
	Asked  int64 // the token that is checked

	// Call, Return and Known are as in Op.
	Call, Return time.Duration
	Known        bool

	// The answer.
	Taken bool  // to FENCE.CHECK
	Last  int64 // to FENCE.LAST; 0 when nothing was seen
}

func (o *Look) String() string {
	s := fmt.Sprintf("%v..%v client %d: ", o.Call.Round(time.Microsecond), o.Return.Round(time.Microsecond), o.Client)
	switch {
	case o.Asked == 0:
		return s + fmt.Sprintf("last: %d", o.Last)
	case !o.Known:
		return s + fmt.Sprintf("check %d: outcome unknown", o.Asked)
	}
	return s + fmt.Sprintf("check %d: %v", o.Asked, o.Taken)
}

// register is the highest token that a resource has seen.
type register int64

// step executes an operation, and tells whether it could have been answered like that. A check that was not answered may
// have been executed at any time; one that was not is the same as one at the end of all.
func (m register) step(o *Look) (register, bool) {
	asked := register(o.Asked)
	switch {
	case o.Asked == 0:
		return m, m == register(o.Last)
	case !o.Known:
		return max(m, asked), true
	case o.Taken:
		return asked, asked >= m
	}
	return m, asked < m
}

// CheckRegister looks for an order of the operations on one resource, for no longer than patience. In a register that is
// loose, what was seen by a minority may refuse a token and be forgotten again: then a refusal has no place in the order, and needs
// no more than a higher token that was sent before it was told; and since the others may have taken the refused token, it may
// be the last later. It returns nil when there is nothing to find.
func CheckRegister(ops []Look, loose bool, patience time.Duration) *Finding {
	var list []porcupine.Operation
	for i := range ops {
		o := &ops[i]
		end := int64(math.MaxInt64)
		switch {
		case !o.Known && o.Asked == 0:
			continue // it says nothing
		case loose && o.Known && o.Asked > 0 && !o.Taken:
			if !explained(o, ops) {
				return &Finding{Report: fmt.Sprintf("nobody has sent a higher token before this was refused:\n  %v\n", o)}
			}
			until := seenUntil(o, ops)
			if until == 0 {
				continue
			}
			end = int64(until)
			o = &Look{Client: o.Client, Asked: o.Asked, Call: o.Call, Return: until}
		case o.Known:
			end = int64(o.Return)
		}
		list = append(list, porcupine.Operation{ClientId: o.Client, Input: o, Call: int64(o.Call), Return: end})
	}
	switch result, info := porcupine.CheckOperationsVerbose(registerModel(), list, patience); result {
	case porcupine.Illegal:
		return &Finding{Report: registerReport(list, info)}
	case porcupine.Unknown:
		return &Finding{Undecided: true, Report: fmt.Sprintf("%d operations", len(list))}
	case porcupine.Ok:
	}
	return nil
}

// explained tells whether a higher token was sent before the operation was answered.
func explained(refused *Look, ops []Look) bool {
	for i := range ops {
		if ops[i].Asked > refused.Asked && ops[i].Call <= refused.Return {
			return true
		}
	}
	return false
}

// seenUntil is when the token of a check was last told to be the last, 0 if it was not after the check was sent. Behind that the
// check makes no difference, and before it none to who has seen the token, so this is a bound on when it was executed.
func seenUntil(check *Look, ops []Look) (until time.Duration) {
	for i := range ops {
		if o := &ops[i]; o.Known && o.Asked == 0 && o.Last == check.Asked && o.Return > check.Call {
			until = max(until, o.Return)
		}
	}
	return until
}

// registerReport shows where the longest order ends, and what does not fit behind it.
func registerReport(ops []porcupine.Operation, info porcupine.LinearizationInfo) string {
	var longest []int
	for _, order := range info.PartialLinearizations()[0] {
		if len(order) > len(longest) {
			longest = order
		}
	}
	state, done := register(0), map[int]bool{}
	for _, i := range longest {
		done[i] = true
		state, _ = state.step(ops[i].Input.(*Look))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d operations have an order, behind which %d is the last; of the others:\n", len(longest), len(ops), state)
	left := 0
	for i := range ops {
		if !done[i] && left < shown {
			fmt.Fprintf(&b, "  %v\n", ops[i].Input)
			left++
		}
	}
	return b.String()
}

// registerModel is the register for porcupine. Its inputs are of type *Look and hold the answers too.
func registerModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return register(0) },
		Step: func(state, input, _ any) (bool, any) {
			next, ok := state.(register).step(input.(*Look))
			return ok, next
		},
		Hash: func(state any) uint64 { return uint64(state.(register)) }, //nolint:gosec // tokens are positive
	}
}
