// Program record writes what the output of `go test -v` on standard input tells of clients into a file of results:
//
//	go test -v -run '^TestClient|^TestNamedMaster|^TestSamplePrograms' ./integration | go run ./integration/matrix/record docs/results/clients.json
//
// It passes its input on. The results are those of the commit that is checked out, and of today. They take the place of those
// of the same clients, backends and ways, so the run must have been a long one (REDFENCE_LONG=1).
package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/redfence/redfence/integration/matrix"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: record FILE <LOG")
		os.Exit(2)
	}
	if err := record(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func record(file string) error {
	old, err := matrix.Load(file)
	if err != nil {
		return err
	}
	fresh, err := matrix.ReadLog(io.TeeReader(os.Stdin, os.Stdout))
	if err != nil {
		return err
	}
	commit, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return fmt.Errorf("the commit: %w", err)
	}
	for i := range fresh {
		fresh[i].Commit = strings.TrimSpace(string(commit))
		fresh[i].Date = time.Now().UTC().Format(time.DateOnly)
	}
	return matrix.Save(file, matrix.Merge(old, fresh))
}
