package linear

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// Finding is a lock whose operations have no order, or none that was found in time.
type Finding struct {
	Key       string
	Undecided bool // the search took too long
	Report    string
}

// Check looks for an order of the operations on each lock, for no longer than patience, and returns the locks for which it
// found none.
func Check(ops []Op, patience time.Duration) (list []Finding) {
	deadline := time.Now().Add(patience)
	byKey := map[string][]porcupine.Operation{}
	for i := range ops {
		o := &ops[i]
		if !o.Known && (o.Kind == Holder || o.Kind == Token) {
			continue // it changes nothing, and says nothing
		}
		byKey[o.Key] = append(byKey[o.Key], porcupine.Operation{
			ClientId: o.Client, Input: o, Call: int64(o.Call), Return: int64(o.end()),
		})
	}
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		left := max(time.Until(deadline), time.Millisecond)
		switch result, info := porcupine.CheckOperationsVerbose(model(), byKey[key], left); result {
		case porcupine.Illegal:
			list = append(list, Finding{Key: key, Report: report(byKey[key], info)})
		case porcupine.Unknown:
			list = append(list, Finding{Key: key, Undecided: true, Report: fmt.Sprintf("%d operations", len(byKey[key]))})
		case porcupine.Ok:
		}
	}
	return list
}

// shown is how many operations a report has on either side of where the order ends.
const shown = 20

// report shows what has changed the lock last in the longest order that was found, and what does not fit behind it.
func report(ops []porcupine.Operation, info porcupine.LinearizationInfo) string {
	var longest []int
	for _, order := range info.PartialLinearizations()[0] {
		if len(order) > len(longest) {
			longest = order
		}
	}
	var changes []string
	state, done := lock{}, map[int]bool{}
	for _, i := range longest {
		done[i] = true
		o := ops[i].Input.(*Op)
		next, _ := state.step(o)
		if before := state; next.owner != before.owner || next.token != before.token || next.frees != before.frees {
			changes = append(changes, fmt.Sprintf("  %v\n    then %v\n", o, next))
		}
		state = next
	}
	var b strings.Builder
	b.WriteString(strings.Join(changes[max(0, len(changes)-shown):], ""))
	fmt.Fprintf(&b, "%d of %d operations have an order, behind which it is %v; of the others:\n", len(longest), len(ops), state)
	left := 0
	for i := range ops {
		if o := ops[i].Input.(*Op); !done[i] && left < shown {
			fmt.Fprintf(&b, "  %v\n", o)
			left++
		}
	}
	return b.String()
}
