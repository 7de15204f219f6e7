// Package integration holds the suites that run the real redfence program
// beside a real redis-server and talk to both over sockets. It contains tests
// only; package harness starts and stops the processes.
package integration
