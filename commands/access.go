package commands

// Access is what a call did to a key that clients may keep a copy of
// (https://redis.io/docs/latest/develop/reference/client-side-caching/).
type Access struct {
	Kind AccessKind
	Key  string // empty with FlushedKeys
}

// AccessKind tells reads from changes.
type AccessKind uint8

// The kinds of access. What left a key as it was is none.
const (
	ReadKey     AccessKind = iota
	ChangedKey             // it came, went, has another value or another TTL
	FlushedKeys            // all keys of a database went, or were exchanged for others
)
