package main

import "log/slog"

// reservedDescriptors is how many open files and sockets the process needs beside those of its clients: the log, the
// snapshots, listeners, HTTP. Redis sets aside as many (CONFIG_MIN_RESERVED_FDS).
const reservedDescriptors = 32

// warnOfFewDescriptors says so when the limit on open files leaves no room for maxClients. The Go runtime has raised
// the soft limit to the hard one at start, as Redis does, so only who set the hard one can raise it. limit is 0 where
// the system has none. Clients over the limit wait to be accepted.
func warnOfFewDescriptors(log *slog.Logger, limit uint64, maxClients int) {
	if limit == 0 || limit >= uint64(maxClients)+reservedDescriptors {
		return
	}
	log.Warn("the limit on open files is below --max-clients; raise it (ulimit -Hn, LimitNOFILE=) or lower --max-clients",
		"limit", limit, "max-clients", maxClients, "reserved", reservedDescriptors)
}
