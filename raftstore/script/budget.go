package script

import (
	"fmt"
	"time"
)

// priceUnit is how many bytes of a string one instruction may touch for one step. Comparing or hashing a string takes
// time in proportion to its length, and the VM does both in one instruction.
const priceUnit = 1024

// metaPrice is what an instruction costs once a script has set a metatable: an index may then follow a chain of tables.
const metaPrice = 16

// What calls of Go code cost in steps, beside what their work costs: a helper of rewritten code, a library function, a
// command.
const (
	helperCost  = 3
	libraryCost = 6
	commandCost = 30
)

// budget counts what a run spends. It is the context.Context of the Lua state: the VM asks for Done before every
// instruction, so that call is the instruction counter, and a closed channel ends the script at that instruction.
type budget struct {
	left   int64 // steps; below 0 the script must end
	memory int64 // bytes
	price  int64 // steps of one VM instruction
	limits Limits
	reason string // why it must end, when left is below 0
	closed chan struct{}
}

func newBudget(l Limits) *budget {
	b := &budget{limits: l, closed: make(chan struct{})}
	close(b.closed)
	b.reset()
	return b
}

func (b *budget) reset() {
	b.left, b.memory, b.price, b.reason = b.limits.Steps, b.limits.Memory, 1, ""
}

// Done implements context.Context. A nil channel is never ready.
func (b *budget) Done() <-chan struct{} {
	b.left -= b.price
	if b.left >= 0 {
		return nil
	}
	return b.closed
}

// Err implements context.Context.
func (b *budget) Err() error { return spentError(b.why()) }

// Deadline implements context.Context: there is none.
func (b *budget) Deadline() (time.Time, bool) { return time.Time{}, false }

// Value implements context.Context: there are none.
func (b *budget) Value(any) any { return nil }

type spentError string

func (e spentError) Error() string { return string(e) }

// spent tells whether the script must end.
func (b *budget) spent() bool { return b.left < 0 }

func (b *budget) why() string {
	if b.reason != "" {
		return b.reason
	}
	return fmt.Sprintf(textSteps, b.limits.Steps)
}

// take charges steps and bytes and tells whether both were there. Sizes come from scripts, so sums must not overflow.
func (b *budget) take(steps, bytes int64) bool {
	switch {
	case b.left < 0:
		return false
	case bytes > b.memory:
		b.stop(fmt.Sprintf(textMemory, b.limits.Memory))
		return false
	case steps > b.left:
		b.left = -1
		return false
	}
	b.left -= steps
	b.memory -= bytes
	return true
}

// sees raises the price of an instruction when the script gets hold of a string of n bytes.
func (b *budget) sees(n int) {
	if p := 1 + int64(n/priceUnit); p > b.price {
		b.price = p
	}
}

// stop ends the script for a reason that is not the budget.
func (b *budget) stop(reason string) { b.left, b.reason = -1, reason }

const (
	textSteps = "redfence: script exceeded its instruction budget of %d steps, nothing of it was kept; " +
		"split the work over several scripts"
	textMemory = "redfence: script exceeded its memory budget of %d bytes, nothing of it was kept; " +
		"split the work over several scripts"
	textStopped = "redfence: script was stopped"
)
