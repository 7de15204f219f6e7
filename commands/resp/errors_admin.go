package resp

// The error texts of commands for operators.
const (
	ErrKillID        Failure = "ERR client-id should be greater than 0"
	ErrPauseMode     Failure = "ERR CLIENT PAUSE mode must be WRITE or ALL"
	ErrUnblockReason Failure = "ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR"
	ErrSlowlogCount  Failure = "ERR count should be greater than or equal to -1"
	ErrNoConfigFile  Failure = "ERR The server is running without a config file"
	ErrNoMembers     Failure = "ERR redfence: there are no members in quorum mode; INFO quorum tells of the nodes"
	ErrNoDebug       Failure = "ERR DEBUG command not allowed. Redfence has no debugging commands"
)

// NotChanged is the error when the members of a cluster could not be changed, for a cause that says the way out.
func NotChanged(cause error) Failure { return Failure("ERR redfence: " + cause.Error()) }

// NoSuchUser is the error for a user that there is not.
func NoSuchUser(name string) Failure {
	return Failure("ERR No such user '" + clip(name, echoedBytes) + "'")
}

// UnknownSetting is the error for a setting that CONFIG SET does not know.
func UnknownSetting(name string) Failure {
	return Failure("ERR Unknown option or number of arguments for CONFIG SET - '" + clip(name, echoedBytes) + "'")
}

// FixedSetting is the error for a setting that cannot be changed while running.
func FixedSetting(name string) Failure {
	return Failure("ERR CONFIG SET failed (possibly related to argument '" + name +
		"') - redfence: settings are flags, environment variables or the configuration file, and fixed while it runs")
}
