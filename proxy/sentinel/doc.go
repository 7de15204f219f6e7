// Package sentinel answers as Redis Sentinels do, for the members of a cluster: clients that are configured with Sentinels find
// a master that all members agree on. What the members know comes in as a View; nothing here talks to them. See DESIGN.md.
package sentinel
