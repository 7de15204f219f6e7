package commands

// SentinelGroup is the heading of SENTINEL.
const SentinelGroup Group = "sentinel"

// SentinelTable is the table of a server that answers as a Redis Sentinel
// (https://redis.io/docs/latest/operate/oss_and_stack/management/sentinel/): what every connection may do, publish/subscribe,
// and SENTINEL, which a data server does not know.
func SentinelTable() *Table {
	shared := map[string]bool{
		"auth": true, "client": true, "command": true, "echo": true, "hello": true, "info": true, "ping": true, "quit": true,
		"reset": true, "role": true, "publish": true, "pubsub": true, "subscribe": true, "unsubscribe": true,
		"psubscribe": true, "punsubscribe": true,
	}
	all := []*Spec{sentinelRows()}
	for _, s := range firstRows() {
		if shared[s.Name] {
			s.Raft = Local
			all = append(all, s)
		}
	}
	return newTable(all)
}

// sentinelRows is SENTINEL, a container. What would change a Sentinel's configuration is not served: there is nothing to
// configure, since the face names what the members of the cluster agree on.
func sentinelRows() *Spec {
	flags := Admin | session
	var subs []*Spec
	for _, row := range []struct {
		name, since, summary string
		arity                int
	}{
		{"ckquorum", "2.8.4", "Tells whether enough members answer to agree on a master.", 3},
		{"failover", "2.8.4", "Refused: the master moves when the leadership does.", 3},
		{"get-master-addr-by-name", "2.8.4", "Returns host and port of the master.", 3},
		{"info-cache", "3.2.0", "Returns nothing: no INFO of a master is kept.", -3},
		{"is-master-down-by-addr", "2.8.4", "Tells other Sentinels that the master is not known to be down.", 6},
		{"master", "2.8.4", "Describes the master.", 3},
		{"masters", "2.8.4", "Describes all masters, of which there is one.", 2},
		{"myid", "6.2.0", "Returns the ID of this Sentinel.", 2},
		{"pending-scripts", "2.8.4", "Returns nothing: no scripts are run.", 2},
		{"replicas", "5.0.0", "Returns nothing: the members are no replicas, each serves everything.", 3},
		{"sentinels", "2.8.4", "Describes the other addresses that answer as Sentinels.", 3},
		{"slaves", "2.8.0", "Returns nothing, as REPLICAS.", 3},
	} {
		subs = append(subs, &Spec{Name: row.name, Arity: row.arity, Flags: flags, Since: row.since, Summary: row.summary})
	}
	return container("sentinel", SentinelGroup, "A container for Redis Sentinel commands.", subs...)
}
