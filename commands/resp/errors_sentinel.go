package resp

import "strconv"

// The error texts of the Sentinel face.
const (
	ErrNoSuchMaster    Failure = "ERR No such master with that name"
	ErrSentinelPublish Failure = "ERR Only HELLO messages are accepted by Sentinel instances."
	ErrNoMasterNow     Failure = "ERR redfence: no master can be named now, for no member leads; ask another Sentinel, or again"
	ErrNoFailover      Failure = "ERR redfence: the master is the member that leads; in a cluster redfence member transfer moves it"
)

// NoSentinelQuorum is the error of SENTINEL CKQUORUM.
func NoSentinelQuorum(usable int) Failure {
	return Failure("NOQUORUM " + strconv.Itoa(usable) + " usable Sentinels. " +
		"Not enough available Sentinels to reach the majority and authorize a failover")
}
