// Package proxy is the front end: it answers Redis clients. It reads their commands, answers those that concern the
// connection or the process, hands the others to a Backend, and writes the replies in order. See DESIGN.md.
package proxy
