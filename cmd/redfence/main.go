// Command redfence serves locks to Redis clients, and asks a running redfence about them.
//
// It exits with 0 when all went well, 1 when it could not do what was asked, and 2 when it was asked wrongly.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
)

const (
	exitClean  = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:]))
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string) int {
	root := newRootCommand()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitClean
	}
	fmt.Fprintf(os.Stderr, "redfence: %v\n", err)
	if errors.As(err, new(*runError)) {
		return exitFailed
	}
	fmt.Fprintln(os.Stderr, "Run 'redfence help' for the flags.")
	return exitUsage
}
