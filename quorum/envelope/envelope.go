// Package envelope is how publications travel over the nodes of quorum mode. A message is published on every node, so
// that it arrives when some are away, and comes with the name of its sender and a number, so that of all copies only
// the first is delivered. What somebody publishes on a node without an envelope is passed on as it is. The package
// does no IO.
package envelope

import (
	"strconv"
	"strings"
)

// reserved is the prefix of the channels that proxies use among themselves; clients cannot subscribe to them.
const reserved = "__redfence__:"

// Notices is the channel of the notices between proxies.
const Notices = reserved + "notices"

// shards is the prefix under which shard channels (SPUBLISH) travel, since nodes older than Redis 7 know none.
const shards = reserved + "shard:"

// Sender names the proxy that published: a random number, another one after each start.
type Sender uint64

// Letter is a message with the envelope that it came in.
type Letter struct {
	From    Sender
	Number  uint64 // of the message, which rises by one with each that the sender publishes
	Payload string
}

// mark begins an envelope. Its last character is the version.
const mark = "__redfence__1"

// Wrap returns the form in which a letter is published: the mark, sender and number in hexadecimal, the payload, with
// colons between them.
func Wrap(l Letter) string {
	buf := make([]byte, 0, len(mark)+len(l.Payload)+2*16+3)
	buf = append(append(buf, mark...), ':')
	buf = append(strconv.AppendUint(buf, uint64(l.From), 16), ':')
	buf = append(strconv.AppendUint(buf, l.Number, 16), ':')
	return string(append(buf, l.Payload...))
}

// Open takes a letter out of its envelope. It is false for what never was in one.
func Open(text string) (Letter, bool) {
	rest, ok := strings.CutPrefix(text, mark+":")
	from, rest, okFrom := strings.Cut(rest, ":")
	number, payload, okNumber := strings.Cut(rest, ":")
	if !ok || !okFrom || !okNumber {
		return Letter{}, false
	}
	sender, err1 := strconv.ParseUint(from, 16, 64)
	count, err2 := strconv.ParseUint(number, 16, 64)
	l := Letter{From: Sender(sender), Number: count, Payload: payload}
	if err1 != nil || err2 != nil || Wrap(l) != text { // there is one way to write a number
		return Letter{}, false
	}
	return l, true
}

// OnNode is the channel of a node on which a client's channel travels; false when clients must not use it.
func OnNode(channel string, shard bool) (string, bool) {
	if shard {
		return shards + channel, true
	}
	return channel, !strings.HasPrefix(channel, reserved)
}

// FromNode is the reverse of OnNode; false for what is no client's channel.
func FromNode(channel string) (name string, shard, ok bool) {
	if name, ok = strings.CutPrefix(channel, shards); ok {
		return name, true, true
	}
	return channel, false, !strings.HasPrefix(channel, reserved)
}
