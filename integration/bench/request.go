package main

import (
	"bytes"
	"strconv"
)

// placeholder stands in a request for the token that changes with every acquisition.
const placeholder = "\x00unique-per-acquisition!"

// request is an encoded command line. Clients encode their requests once, and then only write the token into them.
type request struct {
	wire  []byte
	slots [][]byte // the parts of wire that hold the token
}

// encode writes a command line as a RESP array of bulk strings.
func encode(args ...string) request {
	wire := []byte("*" + strconv.Itoa(len(args)) + "\r\n")
	for _, a := range args {
		wire = append(wire, "$"+strconv.Itoa(len(a))+"\r\n"+a+"\r\n"...)
	}
	r := request{wire: wire}
	for rest := wire; ; {
		at := bytes.Index(rest, []byte(placeholder))
		if at < 0 {
			return r
		}
		rest = rest[at:]
		r.slots = append(r.slots, rest[:len(placeholder)])
		rest = rest[len(placeholder):]
	}
}

// with returns the request for the token t. The bytes are valid until the next call.
func (r request) with(t *token) []byte {
	for _, slot := range r.slots {
		copy(slot, t[:])
	}
	return r.wire
}

// token is the value of a lock: its first digits tell the round and the client, the others count acquisitions. A
// server may answer without work what would change nothing, so no value is used twice.
type token [len(placeholder)]byte

// countDigits is how many digits of a token count; the rest tell whose it is.
const countDigits = 12

// newToken returns the first token of an owner, a number that no other client or round has.
func newToken(owner int) *token {
	var t token
	copy(t[:], bytes.Repeat([]byte("0"), len(t)))
	digits := strconv.Itoa(owner)
	copy(t[len(t)-countDigits-len(digits):], digits)
	return &t
}

// next counts on.
func (t *token) next() {
	for i := len(t) - 1; i >= len(t)-countDigits; i-- {
		if t[i]++; t[i] <= '9' {
			return
		}
		t[i] = '0'
	}
}
