package upstream

import (
	"bytes"
	"strconv"

	"github.com/redfence/redfence/commands/resp"
)

// scanner finds the ends of replies in RESP2 or RESP3 (https://redis.io/docs/latest/develop/reference/protocol-spec/). It looks
// at every byte once, however they are chunked, and decodes nothing.
//
// Use: read into room(), tell grown(n), then call next until it returns nothing.
type scanner struct {
	limit int // bytes of one reply

	buf             []byte
	start, pos, end int // of the reply at hand; where scanning goes on; of what was received
	values          int // that are still to come; 0 between replies
	skip            int // bytes of a bulk string that are still to come
}

const (
	firstBuffer = 4 << 10
	keptBuffer  = 64 << 10
	leastRoom   = 1 << 10
)

// room returns the free part of the buffer, never empty.
func (s *scanner) room() []byte {
	if s.start == s.end {
		s.pos -= s.start
		s.start, s.end = 0, 0
		if len(s.buf) > keptBuffer {
			s.buf = nil
		}
	}
	if len(s.buf)-s.end < leastRoom {
		s.makeRoom()
	}
	return s.buf[s.end:]
}

func (s *scanner) makeRoom() {
	buf := s.buf
	used := s.end - s.start
	switch {
	case s.skip > len(buf)-used: // what is missing of a bulk string, and no more
		buf = make([]byte, used+s.skip+leastRoom)
	case len(buf)-used < max(leastRoom, len(buf)/2):
		buf = make([]byte, max(firstBuffer, 2*len(buf)))
	}
	n := copy(buf, s.buf[s.start:s.end])
	s.buf, s.pos = buf, s.pos-s.start
	s.start, s.end = 0, n
}

func (s *scanner) grown(n int) { s.end += n }

// own returns a reply that next returned last, to be kept. A large one is not copied; the scanner goes on with another buffer.
func (s *scanner) own(reply []byte) []byte {
	if len(reply) <= keptBuffer {
		return bytes.Clone(reply)
	}
	rest := make([]byte, max(firstBuffer, s.end-s.start))
	n := copy(rest, s.buf[s.start:s.end])
	s.buf, s.pos = rest, s.pos-s.start
	s.start, s.end = 0, n
	return reply
}

// next returns the next whole reply, which is valid until room is called, or nil when more bytes are needed.
func (s *scanner) next() ([]byte, error) {
	if s.values == 0 && s.start < s.end {
		s.values = 1
	}
	for s.values > 0 {
		more, err := s.step()
		if err != nil {
			return nil, err
		}
		if more {
			return nil, s.bounded()
		}
	}
	if s.start == s.pos {
		return nil, nil
	}
	reply := s.buf[s.start:s.pos]
	s.start = s.pos
	return reply, nil
}

func (s *scanner) bounded() error {
	if s.end-s.start > s.limit {
		return errTooLarge
	}
	return nil
}

// step goes over one value, or into an aggregate. It asks for more bytes when they are not there yet.
func (s *scanner) step() (more bool, err error) {
	if s.skip > 0 {
		n := min(s.skip, s.end-s.pos)
		s.pos, s.skip = s.pos+n, s.skip-n
		if s.skip > 0 {
			return true, nil
		}
		s.values--
		return false, nil
	}
	n := bytes.IndexByte(s.buf[s.pos:s.end], '\n')
	if n < 0 {
		return true, nil
	}
	line := s.buf[s.pos : s.pos+n+1]
	if len(line) < 3 || line[n-1] != '\r' {
		return false, resp.ErrMalformed
	}
	s.pos += n + 1
	return false, s.value(line[0], line[1:n-1])
}

// value counts what follows the first line of a value.
func (s *scanner) value(mark byte, head []byte) error {
	switch mark {
	case '$', '=', '!', '*', '~', '>', '%', '|':
	default:
		s.values--
		return nil
	}
	n, err := strconv.Atoi(string(head))
	switch {
	case err != nil || n < -1:
		return resp.ErrMalformed
	case n > s.limit:
		return errTooLarge
	case n == -1:
		s.values--
		return nil
	}
	switch mark {
	case '$', '=', '!':
		s.skip = n + len("\r\n")
		return nil
	case '%':
		n *= 2
	case '|': // attributes stand in front of a value
		n = 2*n + 1
	}
	s.values += n - 1
	return nil
}
