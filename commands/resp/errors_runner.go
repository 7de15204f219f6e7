package resp

// The errors that scripts and commands get from the nodes of quorum mode.
const (
	ErrCannotIssue  Failure = "CLUSTERDOWN no fencing token: this proxy's clock is too far from those of the nodes; nothing was executed; set the clock right"
	ErrTooManyWords Failure = "ERR redfence: more than 7900 words in a command are not served in quorum mode: send several commands"
	ErrScriptCalls  Failure = "ERR redfence: script calls more than 100000 commands; split the work over several scripts"
)
