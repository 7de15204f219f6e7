package resp

// The error texts of commands that wait.
const (
	ErrTimeoutNotFloat Failure = "ERR timeout is not a float or out of range"
	ErrUnblocked       Failure = "UNBLOCKED client unblocked via CLIENT UNBLOCK"
)
