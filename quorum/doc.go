// Package quorum takes locks on a majority of independent Redis nodes, as Redlock does
// (https://redis.io/docs/latest/develop/use/patterns/distributed-locks/), for clients that speak to one Redis.
//
// A request goes to all nodes in one step. Each node executes it as one script (package runner), which reports what
// it wrote and to which version of each key. The request is won when a majority did the same thing to the same
// version (package tally). What a lost request wrote is put back, and a node that lags behind a majority is given
// what that shares.
package quorum
