package resp

import "strings"

// The error texts of transactions.
const (
	ErrExecWithoutMulti    Failure = "ERR EXEC without MULTI"
	ErrDiscardWithoutMulti Failure = "ERR DISCARD without MULTI"
	ErrNestedMulti         Failure = "ERR MULTI calls can not be nested"
	ErrWatchInMulti        Failure = "ERR WATCH inside MULTI is not allowed"
	ErrNotInMulti          Failure = "ERR Command not allowed inside a transaction"
	ErrExecAbort           Failure = "EXECABORT Transaction discarded because of previous errors."
)

// ExecAbort is the error for an EXEC that could not begin because of another error.
func ExecAbort(cause string) Failure {
	return Failure("EXECABORT Transaction discarded because of: " + strings.TrimPrefix(cause, "ERR "))
}
