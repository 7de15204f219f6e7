package resp

import "fmt"

// NotSubscribed is the error of a subscription that too few of the nodes have confirmed; reasons say why, by node.
func NotSubscribed(confirmed, nodes int, reasons string) Failure {
	return Failure(fmt.Sprintf("CLUSTERDOWN quorum lost: %d of %d nodes confirmed the subscription (%s); "+
		"nothing was subscribed; subscribe again when a majority of the nodes can be reached", confirmed, nodes, reasons))
}
