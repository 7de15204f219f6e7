// Package fencing is the resource's side of a distributed lock. No lock can stop a client that was paused for longer than
// its lease; only the resource can, by remembering the highest fencing token that it has seen and refusing lower ones
// (Kleppmann, "How to do distributed locking", 2016, https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html).
//
// Redfence gives every lock a token that grows with each grant. What checks it is, depending on where the resource is:
//
//   - Guard, for a resource inside this process;
//   - Statement, for rows of a database that remember the token themselves;
//   - Middleware, for an HTTP service whose callers send the token in a header;
//   - FENCE.CHECK of Redfence, for what can remember nothing itself.
//
// A check and the write that it allows must be one step: a statement, a transaction, or what Guard.Do runs. A client that
// is paused between the two writes all the same.
package fencing
