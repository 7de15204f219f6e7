package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rogpeppe/go-internal/testscript"
)

// patience bounds what a script waits for: a server to be ready, to answer, or to end.
const patience = 30 * time.Second

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"redfence": main})
}

// TestScripts runs testdata/script/*.txtar: command lines of the real program and what they print. Beyond
// testscript's own verbs there are
//
//	exits CODE PROGRAM ARG...  run a program, which must end with that exit code
//	start NAME FLAG...         a server with these flags, in the background, until it is ready; sets $NAME to its
//	                           address and $NAME_http to its HTTP address, and keeps what it logs in NAME.log
//	end NAME SIGNAL CODE       send it TERM, INT or KILL; it must end with that exit code (-1 after KILL)
//	ask ADDRESS ARG...         send one command to a server and print the reply
//	get URL [STATUS]           print status and body of an HTTP answer, as soon as it has that status
//	nodes NUMBER               so many redis-servers, in the background; sets $NODE1 and so on to their URLs
//	killnode NUMBER            end one of them
//
// $CERTS is a directory with ca.pem, and server and client certificates that it signed.
func TestScripts(t *testing.T) {
	certs := newAuthority(t)
	certs.sign("server", &x509.Certificate{})
	certs.sign("client", &x509.Certificate{})
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Values[processesKey{}] = map[string]*process{}
			env.Values[nodesKey{}] = map[int]*exec.Cmd{}
			env.Setenv("CERTS", certs.dir)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
			"start": startServer,
			"end":   endServer,
			"ask":   askServer,
			"get":   getURL,

			"nodes":    startNodes,
			"killnode": killNode,
		},
	})
}

func exits(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG...")
	}
	code := 0
	err := ts.Exec(args[1], args[2:]...)
	if failure := (*exec.ExitError)(nil); errors.As(err, &failure) {
		code = failure.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("%v ended with code %d, not %s", args[1:], code, args[0])
	}
}

func askServer(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: ask ADDRESS ARG...")
	}
	client := redis.NewClient(&redis.Options{Addr: args[0], MaxRetries: -1})
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	words := make([]any, len(args)-1)
	for i, word := range args[1:] {
		words[i] = word
	}
	reply, err := client.Do(ctx, words...).Result()
	if err != nil {
		reply = err
	}
	fmt.Fprintln(ts.Stdout(), reply)
}

func getURL(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 && len(args) != 2 {
		ts.Fatalf("usage: get URL [STATUS]")
	}
	status, body := fetch(ts, args[0])
	for deadline := time.Now().Add(patience); len(args) == 2 && strconv.Itoa(status) != args[1]; {
		if time.Now().After(deadline) {
			ts.Fatalf("still status %d after %s", status, patience)
		}
		time.Sleep(20 * time.Millisecond)
		status, body = fetch(ts, args[0])
	}
	fmt.Fprintf(ts.Stdout(), "%d\n%s", status, body)
}

func fetch(ts *testscript.TestScript, url string) (status int, body []byte) {
	client := http.Client{Timeout: patience}
	answer, err := client.Get(url)
	ts.Check(err)
	defer answer.Body.Close()
	body, err = io.ReadAll(answer.Body)
	ts.Check(err)
	return answer.StatusCode, body
}
