// Package node is one upstream Redis or Valkey server as quorum mode sees it: an ordered, pipelined stream of
// operations for each database, a look at the server every second, and the server's clock. DESIGN.md says why it is
// built as it is. What a node's answers are worth is decided in package quorum.
package node
