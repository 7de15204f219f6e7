// Program golang runs the locks of redsync, and go-redis by itself, against the server at -addr, in named cases.
//
// Every case runs with RESP2 and with RESP3. The program prints one line per case, "ok NAME DETAILS" or
// "not ok NAME REASON", and its exit code is 1 when any case failed.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// patience bounds every wait for something that is due at once.
const patience = 10 * time.Second

// testCase is a case's name and body; the body answers the details of its ok line.
type testCase struct {
	name string
	run  func(ctx context.Context, e env) (string, error)
}

// env is what a case works with.
type env struct {
	client *redis.Client
	key    string // no other case and no other run uses this key
}

func main() {
	addr := flag.String("addr", "", "host:port of the server")
	flag.Parse()
	if *addr == "" {
		flag.Usage()
		os.Exit(2)
	}
	passed := true
	for _, protocol := range []int{2, 3} {
		client := redis.NewClient(&redis.Options{Addr: *addr, Protocol: protocol, MaxRetries: -1})
		for _, c := range append(redsyncCases(), goRedisCases()...) {
			name := fmt.Sprintf("resp%d/%s", protocol, c.name)
			passed = runCase(client, name, c) && passed
		}
		_ = client.Close()
	}
	if !passed {
		os.Exit(1)
	}
}

func runCase(client *redis.Client, name string, c testCase) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	details, err := c.run(ctx, env{client: client, key: fmt.Sprintf("golang:%d:%s", time.Now().UnixNano(), name)})
	if err != nil {
		fmt.Println("not ok", name, strings.ReplaceAll(err.Error(), "\n", " "))
		return false
	}
	fmt.Println("ok", name, details)
	return true
}

// equal is nil when got is want, else an error that names what it is.
func equal[T comparable](what string, want, got T) error {
	if want != got {
		return fmt.Errorf("%s: want %v, got %v", what, want, got)
	}
	return nil
}

// within is nil when the value is above low and at most high.
func within(what string, low, value, high time.Duration) error {
	if value <= low || value > high {
		return fmt.Errorf("%s is %v, not above %v and up to %v", what, value, low, high)
	}
	return nil
}

// first is the first error that is not nil.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
