package main

import (
	"fmt"
	"slices"
	"strconv"
)

const (
	// maxClients is how many clients a token's owner digits have room for.
	maxClients = 10_000
	// crowd is how many clients the settings with a fixed number of clients have.
	crowd = 64

	leaseMillis = "30000"
)

// setting is one line of the result: what the clients do, and how many there are.
type setting struct {
	name    string
	about   string
	clients int
	ops     []op
	link    int  // which of the server's links is between it and the clients, from 1; 0 for none
	paused  bool // the last of the servers behind is stopped (SIGSTOP) while the clients work
	// before and after prepare the server and clean up; nil for nothing to do.
	before, after func(*conn) error
	// enlist returns the cycle that a client repeats until time is up.
	enlist func(*client) cycle
}

// cycle is what a client repeats. It records its operations, each from the end of the one before.
type cycle func() error

// op is one kind of operation in a setting. One that is not counted still takes its time.
type op struct {
	name    string
	counted bool
}

// makePlan lists the settings that the flags ask for.
func makePlan(o options) ([]setting, error) {
	var plan []setting
	for _, name := range o.settings {
		switch name {
		case "lock":
			plan = append(plan, forAll(o.clients, lockSetting)...)
		case "contended":
			plan = append(plan, contendedSetting())
		case "read":
			plan = append(plan, readSetting())
		case "redisson":
			plan = append(plan, redissonSetting())
		case "redlock":
			plan = append(plan, forAll(o.clients, func(n int) setting { return redlockSetting(n, false) })...)
		case "redlock-contended":
			plan = append(plan, redlockContended())
		case "redlock-paused":
			plan = append(plan, redlockSetting(crowd, true))
		case "pass":
			plan = append(plan, passSettings(o)...)
		case "fence":
			plan = append(plan, forAll(o.clients, fenceSetting)...)
		case "mutex":
			plan = append(plan, forAll(o.clients, mutexSetting)...)
		case "mutex-contended":
			plan = append(plan, mutexContended())
		case "txn":
			plan = append(plan, forAll(o.clients, txnSetting)...)
		default:
			return nil, fmt.Errorf("-settings: %q is none of lock, contended, read, redisson; redlock, redlock-contended, "+
				"redlock-paused; pass; fence; mutex, mutex-contended, txn", name)
		}
	}
	return plan, nil
}

// forAll makes a setting for each number of clients.
func forAll(clients []int, make func(clients int) setting) (plan []setting) {
	for _, n := range slices.Compact(slices.Sorted(slices.Values(clients))) {
		plan = append(plan, make(n))
	}
	return plan
}

// releaseScript deletes the lock if it is still the caller's
// (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/).
const releaseScript = `if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`

// lockSetting has every client take and release a lock of its own.
func lockSetting(clients int) setting {
	return setting{
		name: "lock", clients: clients,
		about:  "every client takes and releases its own lock: SET NX PX, then EVALSHA compare-and-delete",
		ops:    []op{{"acquire", true}, {"release", true}},
		before: load(releaseScript),
		after:  nothingLeft,
		enlist: func(c *client) cycle {
			acquire, release := lockRequests("bench:lock:" + strconv.Itoa(c.id))
			return func() error {
				c.token.next()
				if err := c.timed(0, acquire.with(c.token), wantOK); err != nil {
					return err
				}
				return c.timed(1, release.with(c.token), wantOne)
			}
		},
	}
}

func lockRequests(key string) (acquire, release request) {
	return encode("SET", key, placeholder, "NX", "PX", leaseMillis),
		encode("EVALSHA", sha1Hex(releaseScript), "1", key, placeholder)
}

// contendedSetting has many clients try for one lock, release it at once when they have it, and else try again after
// 0.5 to 1.5 ms.
func contendedSetting() setting {
	return setting{
		name: "contended", clients: crowd,
		about:  "all clients want one lock, hold it for no time, and try again after 0.5 to 1.5 ms at random; grants and releases are counted",
		ops:    []op{{"until granted", true}, {"release", true}, {"refusal", false}},
		before: load(releaseScript),
		after:  nothingLeft,
		enlist: func(c *client) cycle {
			acquire, release := lockRequests("bench:contended")
			return func() error { return c.contend(acquire, release) }
		},
	}
}

// readSetting asks about a lock that somebody holds.
func readSetting() setting {
	const key, holder = "bench:held", "the holder"
	hold := encode("SET", key, holder, "NX", "PX", "600000")
	get := encode("GET", key)
	return setting{
		name: "read", clients: crowd,
		about:  "all clients ask for a held lock: GET, and SET NX PX that is refused",
		ops:    []op{{"GET", true}, {"refused SET NX", true}},
		before: func(c *conn) error { return c.must(hold.wire, wantOK) },
		after: func(c *conn) error {
			if err := c.must(encode("DEL", key).wire, wantOne); err != nil {
				return err
			}
			return nothingLeft(c)
		},
		enlist: func(c *client) cycle {
			try, _ := lockRequests(key)
			return func() error {
				c.token.next()
				if err := c.timed(0, get.wire, want{'$', holder}); err != nil {
					return err
				}
				return c.timed(1, try.with(c.token), wantNull)
			}
		},
	}
}

// The scripts of the redisson setting do what Redisson's lock does on the wire (owner count in a hash, release with a
// message and a note of the outcome for a release that is sent twice), so that they cost what its scripts cost.
const (
	hashAcquireScript = `local lock, lease, owner = KEYS[1], ARGV[1], ARGV[2]
if redis.call('exists', lock) == 1 and redis.call('hexists', lock, owner) == 0 then
	return redis.call('pttl', lock)
end
redis.call('hincrby', lock, owner, 1)
redis.call('pexpire', lock, lease)
return nil`
	hashReleaseScript = `local lock, channel, outcome = KEYS[1], KEYS[2], KEYS[3]
local message, lease, owner, publish, keep = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local known = redis.call('get', outcome)
if known ~= false then return tonumber(known) end
if redis.call('hexists', lock, owner) == 0 then return nil end
if redis.call('hincrby', lock, owner, -1) > 0 then
	redis.call('pexpire', lock, lease)
	redis.call('set', outcome, 0, 'px', keep)
	return 0
end
redis.call('del', lock)
redis.call(publish, channel, message)
redis.call('set', outcome, 1, 'px', keep)
return 1`
)

// redissonSetting has every client take and release its own lock as Redisson does.
func redissonSetting() setting {
	return setting{
		name: "redisson", clients: crowd,
		about:  "every client takes and releases its own lock as Redisson does: EVALSHA on a hash, EVALSHA with PUBLISH, then DEL of the release's note (not counted)",
		ops:    []op{{"acquire", true}, {"release", true}, {"DEL of the note", false}},
		before: load(hashAcquireScript, hashReleaseScript),
		after:  nothingLeft,
		enlist: func(c *client) cycle {
			lock, owner := "bench:redisson:"+strconv.Itoa(c.id), "0f2b4c1e-bench:"+strconv.Itoa(c.id)
			note := "bench:note:{" + lock + "}:" + placeholder
			acquire := encode("EVALSHA", sha1Hex(hashAcquireScript), "1", lock, leaseMillis, owner)
			release := encode("EVALSHA", sha1Hex(hashReleaseScript), "3", lock, "bench:channel:{"+lock+"}", note,
				"0", leaseMillis, owner, "PUBLISH", "10000")
			tidy := encode("DEL", note)
			return func() error {
				c.token.next()
				if err := c.timed(0, acquire.wire, wantNull); err != nil {
					return err
				}
				if err := c.timed(1, release.with(c.token), wantOne); err != nil {
					return err
				}
				return c.timed(2, tidy.with(c.token), wantOne)
			}
		},
	}
}

// load makes scripts known to a server.
func load(scripts ...string) func(*conn) error {
	return func(c *conn) error {
		for _, text := range scripts {
			if err := c.must(encode("SCRIPT", "LOAD", text).wire, want{'$', sha1Hex(text)}); err != nil {
				return err
			}
		}
		return nil
	}
}

// nothingLeft checks that every release did its work: no key is left.
func nothingLeft(c *conn) error { return c.must(encode("DBSIZE").wire, wantZero) }
