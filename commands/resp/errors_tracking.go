package resp

// The error texts of CLIENT TRACKING and CLIENT CACHING.
const (
	ErrRedirectTwice   Failure = "ERR A client can only redirect to a single other client"
	ErrRedirectUnknown Failure = "ERR The client ID you want redirect to does not exist"
	ErrPrefixAlone     Failure = "ERR PREFIX option requires BCAST mode to be enabled"
	ErrBroadcastSwitch Failure = "ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it with a different mode."
	ErrBroadcastOpt    Failure = "ERR OPTIN and OPTOUT are not compatible with BCAST"
	ErrOptInAndOut     Failure = "ERR You can't specify both OPTIN mode and OPTOUT mode"
	ErrOptSwitch       Failure = "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it with a different mode."
	ErrNotCaching      Failure = "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled"
	ErrCachingYes      Failure = "ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode."
	ErrCachingNo       Failure = "ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode."
)

// PrefixOverlap is the error for a prefix of broadcasts that overlaps with one that the connection has.
func PrefixOverlap(prefix, existing string) Failure {
	return overlap(prefix, "an existing prefix", existing)
}

// PrefixesOverlap is the error for two prefixes of one command that overlap.
func PrefixesOverlap(prefix, other string) Failure {
	return overlap(prefix, "another provided prefix", other)
}

func overlap(prefix, what, other string) Failure {
	return Failure("ERR Prefix '" + clip(prefix, echoedBytes) + "' overlaps with " + what + " '" + clip(other, echoedBytes) +
		"'. Prefixes for a single client must not overlap.")
}
