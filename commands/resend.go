package commands

import (
	"strings"

	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
)

// Redisson sends a request again when its answer does not come in time or its connection breaks. For most of its
// requests that is harmless or guarded by the script itself, but an acquire that runs twice counts one thread as
// two holders, and one release does not free the lock (redisson/redisson issues 4109 and 4178). So the front end
// answers a resent acquire with the result of the first. It must do that for nothing else: two clients that take a
// semaphore, or set the same key, send equal bytes and mean two requests.

// Acquire is what an acquire of a lock of Redisson does when it succeeds: it counts one more hold of an owner.
type Acquire struct {
	Lock  string // the key, a hash
	Field string // of the owner, whose value is the number of holds
	// Holds begins the names of keys, one for each hold of a read lock, with a number from 1 at the end; empty for other locks.
	Holds string
}

// Took tells whether a reply says that the lock was taken: nil, or of a fenced lock that tells its token, -1 and the token.
func (Acquire) Took(v resp.Value) bool {
	return v.IsNull() || v.Kind == resp.Array && len(v.Elems) == 2 && v.Elems[0].Kind == resp.Integer && v.Elems[0].Int() == -1
}

// ResendableAcquire tells whether a request is the acquire of a lock of Redisson that names its owner,
// "<uuid>:<thread id>". A thread waits for its answer, so equal bytes from the same address are a resend.
//
// A script is known by the shape of its arguments, since EVALSHA does not tell its text:
//
//	KEYS 1: name                  ARGV: lease, owner[:write]           locks, spin locks, write locks
//	KEYS 1: name                  ARGV: lease, owner, marker           locks that refuse to be re-entered
//	KEYS 2: name, token           ARGV: lease, owner                   fenced locks
//	KEYS 2: name, ...owner:rwlock_timeout   ARGV: lease, owner, owner:write   read locks
//	KEYS 3: name, queue, timeout  ARGV: lease, owner, time, time[, marker]    fair locks
//
// A release begins with the message that it publishes, "0" or "1", or has the latch that guards it among its
// arguments; one of "1" names the owner third. A renewal of one lock looks like an acquire when only its SHA1 is
// sent, and so does the release of a spin lock before Redisson 3.24. Neither is harmed: a renewal does the same
// twice, and the thread of a release waits as well. Where the text is sent it is asked too.
func ResendableAcquire(r *Request) (a Acquire, yes bool) {
	if r.Spec.Name != "eval" && r.Spec.Name != "evalsha" {
		return Acquire{}, false
	}
	o, ok := r.Opts.(args.EvalOptions)
	if !ok || len(o.Argv) < 2 || !acquires(o.Keys, o.Argv) {
		return Acquire{}, false
	}
	if r.Spec.Name == "eval" && !takesHold(r.Args[1]) {
		return Acquire{}, false
	}
	if lease, err := args.Int(o.Argv[0]); err != nil || lease <= 0 {
		return Acquire{}, false
	}
	a = Acquire{Lock: o.Keys[0], Field: o.Argv[1]}
	if len(o.Keys) == 2 && len(o.Argv) > 2 && o.Argv[2] == a.Field+":write" {
		a.Holds = o.Keys[1] + ":"
	}
	return a, true
}

// nonReentrant is the marker that Redisson looks for in the error of a lock that its owner has already.
const nonReentrant = "NON_REENTRANT_REACQUIRE"

func acquires(keys, argv []string) bool {
	owner, rest := argv[1], argv[2:]
	if n := len(rest); n > 0 && rest[n-1] == nonReentrant {
		rest = rest[:n-1]
	}
	switch len(keys) {
	case 1:
		return len(rest) == 0 && isOwner(strings.TrimSuffix(owner, ":write"))
	case 2:
		fenced := len(rest) == 0 && strings.HasPrefix(keys[1], "redisson_lock_token:")
		reads := len(rest) == 1 && rest[0] == owner+":write" && strings.HasSuffix(keys[1], owner+":rwlock_timeout")
		return isOwner(owner) && (fenced || reads)
	case 3:
		return isOwner(owner) && len(rest) == 2 && digits(rest[0]) && digits(rest[1]) &&
			strings.HasPrefix(keys[1], "redisson_lock_queue:") && strings.HasPrefix(keys[2], "redisson_lock_timeout:")
	}
	return false
}

// takesHold tells whether a script's text counts a hold and ends none.
func takesHold(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "hincrby") && !strings.Contains(text, "'del'") && !strings.Contains(text, `"del"`)
}

// isOwner knows "<uuid>:<thread id>".
func isOwner(s string) bool {
	const uuid = len("8743c9c0-0795-4907-87fd-6c719a6b4586")
	return len(s) > uuid+1 && isUUID(s[:uuid]) && s[uuid] == ':' && digits(s[uuid+1:])
}

func isUUID(s string) bool {
	for i := range len(s) {
		switch i {
		case 8, 13, 18, 23:
			if s[i] != '-' {
				return false
			}
		default:
			if strings.IndexByte("0123456789abcdef", s[i]) < 0 {
				return false
			}
		}
	}
	return true
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
