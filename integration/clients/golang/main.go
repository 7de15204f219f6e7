// Program golang runs the lock libraries of Go against the server at -addr, or the master that -sentinels name, in named cases.
//
// -suite chooses the libraries, -case one case only. A suite runs with each protocol that its client speaks. The
// program prints one line per case, "ok NAME DETAILS" or "not ok NAME REASON", and its exit code is 1 when any case
// failed.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/redis/go-redis/v9"
)

// patience bounds every wait for something that is due at once.
const patience = 10 * time.Second

// answerWithin is how long libraries are told to wait for an answer, where they would give up sooner: longer than a cluster
// takes to elect a new leader.
const answerWithin = 5 * time.Second

// testCase is a case's name and body; the body answers the details of its ok line.
type testCase struct {
	name string
	run  func(ctx context.Context, e env) (string, error)
}

// env is what a case works with.
type env struct {
	addr      string
	sentinels []string // in place of addr
	protocol  int
	client    *redis.Client
	pool      redsyncredis.Pool // what redsync uses
	key       string            // no other case and no other run uses this key
}

// suite is the cases of a library, and the RESP protocols that its client speaks.
type suite struct {
	protocols []int
	cases     []testCase
	pool      func(e env) (redsyncredis.Pool, func(), error) // of the suites of redsync
}

func suites() map[string]suite {
	both := []int{2, 3}
	return map[string]suite{
		"go-redis":            {both, goRedisCases(), nil},
		"redsync":             {both, redsyncCases(), goRedisPool},
		"choosing":            {both, choosingCases(), goRedisPool},
		"redislock":           {both, redislockCases(), nil},
		"redsync-redigo":      {[]int{2}, redsyncCases(), redigoPool},
		"redsync-rueidis":     {both, redsyncCases(), rueidisPool},
		"rueidis":             {[]int{3}, rueidisCases(), nil},
		"rueidislock":         {[]int{3}, rueidislockCases(tracking), nil},
		"rueidislock-noloop":  {[]int{3}, rueidislockCases(noLoop), nil},
		"rueidislock-polling": {both, rueidislockCases(polling), nil},
	}
}

func main() {
	addr := flag.String("addr", "", "host:port of the server")
	name := flag.String("suite", "go-redis", "which libraries")
	only := flag.String("case", "", "run this case only")
	sentinels := flag.String("sentinels", "", "host:port,... of Sentinels, in place of -addr")
	story := flag.String("failover", "", "host:port,... of Sentinels: the story of -key while the master is killed")
	key := flag.String("key", "lock", "of the story")
	flag.Parse()
	if *story != "" {
		if err := failover(*story, *key); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	chosen, known := suites()[*name]
	if *addr+*sentinels == "" || !known {
		flag.Usage()
		os.Exit(2)
	}
	passed := true
	for _, protocol := range chosen.protocols {
		e := env{addr: *addr, protocol: protocol}
		if *sentinels != "" {
			e.sentinels = strings.Split(*sentinels, ",")
		}
		passed = chosen.run(e, *only) && passed
	}
	if !passed {
		os.Exit(1)
	}
}

// run runs the cases, or only one of them, with one protocol, and tells whether all have passed.
func (s suite) run(e env, only string) bool {
	e.client = e.connect()
	defer func() { _ = e.client.Close() }()
	if s.pool != nil {
		pool, closePool, err := s.pool(e)
		if err != nil {
			fmt.Println("not ok connect", err)
			return false
		}
		defer closePool()
		e.pool = pool
	}
	passed := true
	for _, c := range s.cases {
		if only == "" || only == c.name {
			passed = runCase(e, c) && passed
		}
	}
	return passed
}

// connect is go-redis; MaxRetries -1 is none.
func (e env) connect() *redis.Client {
	if e.sentinels == nil {
		return redis.NewClient(&redis.Options{Addr: e.addr, Protocol: e.protocol, MaxRetries: -1})
	}
	return redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: "mymaster", SentinelAddrs: e.sentinels, Protocol: e.protocol, MaxRetries: -1,
	})
}

func runCase(e env, c testCase) bool {
	name := fmt.Sprintf("resp%d/%s", e.protocol, c.name)
	e.key = fmt.Sprintf("golang:%d:%s", time.Now().UnixNano(), name)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	details, err := c.run(ctx, e)
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
