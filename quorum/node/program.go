package node

import (
	"github.com/redfence/redfence/quorum"
	"github.com/redfence/redfence/quorum/runner"
)

// codec puts operations into scripts and reads what they answer.
type codec struct {
	program func(runner.Op) *runner.Program      // nil when the operation needs none
	args    func(runner.Op, runner.Target) []any // the command line
	joins   func(runner.Op) bool                 // whether it may be one of many in one call; nil: none may
	decode  func(op runner.Op, reply any) runner.Result
}

// outcome is what a result means to the engine.
func outcome(r runner.Result) quorum.Outcome {
	o := quorum.Outcome{
		Reason: r.Reason, Ran: r.Ran,
		Answer: r.Answer, Undone: r.Undone, Copied: r.Copied, Accepted: r.Accepted,
		States: r.States, Scanned: r.Scanned, Admitted: r.Admitted,
	}
	switch {
	case r.Void:
		o.Reason = reasonForgot
	case r.Late:
		o.Reason = reasonLate
	}
	return o
}
