package runner

import "sync"

// Text is a client's script, ready to run on nodes. A node must have accepted it by SCRIPT LOAD before: a text that
// compiles on its own cannot close the wrapper. It is kept for as long as the proxy knows the script.
type Text struct {
	Raw string
	SHA string // of Raw, as the client knows it

	wrapped *Program
	hold    hold // the lean form that does the same
}

// hold names a lean form.
type hold uint8

// built is the command line of an operation without what differs between nodes.
type built struct {
	once    sync.Once
	program *Program
	args    []any
}
