package resp

import "strings"

// OneLine makes a text fit for one line of a reply.
func OneLine(text string) string {
	return strings.NewReplacer("\r", " ", "\n", "; ").Replace(text)
}

// UpstreamDown is the error of a request for a Redis behind Redfence that could not be sent; name has no credentials, and
// cause may be nil.
func UpstreamDown(name string, cause error) Failure {
	text := "CLUSTERDOWN redfence: the upstream " + name + " is not reachable"
	if cause != nil {
		text += " (" + OneLine(cause.Error()) + ")"
	}
	return Failure(text + "; nothing was executed; keys that match --lock-keys are served")
}

// UpstreamLost is the error of a request whose answer from a Redis behind Redfence was lost.
func UpstreamLost(name string, cause error) Failure {
	return Failure("ERR UNKNOWN outcome: the request was sent to the upstream " + name + " and its answer was lost (" +
		OneLine(cause.Error()) + "); it may have been executed")
}

// MixedKeys is the error of a request that has keys of locks and others.
func MixedKeys(lock, other string) Failure {
	lock, other = clip(lock, echoedBytes), clip(other, echoedBytes)
	return Failure("ERR redfence: '" + lock + "' is a lock and '" + other + "' is not (--lock-keys), so one request or transaction " +
		"cannot have both; nothing was executed; use two, or add a pattern for '" + other + "' to --lock-keys")
}

// NotPassed is the error of a command that cannot be passed on to the upstream; name is lower case.
func NotPassed(name string) Failure {
	return Failure("ERR redfence: " + name + " is not served with --upstream; connect to the upstream itself")
}
