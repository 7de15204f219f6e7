package proxy

import (
	"bytes"
	"strings"
	"unsafe"

	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
)

// The bounds on what one client may send. They are checked when a length is announced, before its bytes arrive.
const (
	// DefaultMaxBulk is the size in bytes of one argument. A whole command may be twice as large.
	DefaultMaxBulk = 64 << 20
	// DefaultMaxArgs is the number of arguments of one command, as in Redis before 7.0.
	DefaultMaxArgs = 1 << 20

	maxLine          = 64 << 10 // PROTO_INLINE_MAX_SIZE of Redis: an inline command, or a line with a length
	anonymousMaxArgs = 10       // before AUTH, as in Redis 7
	anonymousMaxBulk = 16384    // before AUTH, as in Redis 7
)

// The sizes of the read buffer: what an idle connection costs, what a busy one may keep, and how little room is
// worth a read.
const (
	firstBuffer = 4 << 10
	keptBuffer  = freeInput
	leastRoom   = 512
)

// noBulk says that the length of the next argument has not been read yet.
const noBulk = -1

// framer cuts the bytes of a connection into command lines, RESP arrays or inline commands
// (https://redis.io/docs/latest/develop/reference/protocol-spec/). It looks at every byte once, however the bytes
// are chunked, and its buffer grows only with bytes that were received: by at most a factor of two.
//
// Use: read into room(), tell grown(n), then call next until it returns no line.
type framer struct {
	maxBulk, maxArgs int
	anonymous        bool // the client has not authenticated, so smaller bounds hold

	buf   []byte
	start int // where the command being read begins; the bytes before it are done with
	pos   int // where parsing goes on
	seen  int // bytes from pos on that are known to hold no line end
	end   int // where the received bytes end

	missing int    // arguments of the command that are still to come; 0 in front of a command
	bulk    int    // length of the argument at pos, or noBulk
	spans   []span // the arguments so far
	size    int    // the sum of their lengths
}

// span is an argument's place in the buffer, relative to the start of the command.
type span struct{ from, to int }

func newFramer(maxBulk, maxArgs int) *framer {
	return &framer{maxBulk: maxBulk, maxArgs: maxArgs, bulk: noBulk, buf: make([]byte, firstBuffer)}
}

// room returns the free part of the buffer, never empty.
func (f *framer) room() []byte {
	if f.start == f.end {
		f.rewind()
	}
	if len(f.buf)-f.end < leastRoom && f.start > 0 {
		f.compact(f.buf)
	}
	if len(f.buf)-f.end < leastRoom {
		f.compact(make([]byte, f.grownSize()))
	}
	return f.buf[f.end:]
}

// memory is what the buffers of the framer have room for, in bytes.
func (f *framer) memory() int { return len(f.buf) + cap(f.spans)*int(unsafe.Sizeof(span{})) }

// drop gives the buffer back. The framer is not used any more.
func (f *framer) drop() { f.buf, f.spans = nil, nil }

// unread is the number of bytes that were received and not cut into lines.
func (f *framer) unread() int { return f.end - f.start }

// grown says that n bytes were received into room().
func (f *framer) grown(n int) { f.end += n }

// filled tells whether what was received last filled the buffer, so that there is probably more.
func (f *framer) filled() bool { return f.end == len(f.buf) }

// rewind starts over in an empty buffer, and gives back the memory of a large command.
func (f *framer) rewind() {
	f.start, f.pos, f.end = 0, 0, 0
	if len(f.buf) > keptBuffer {
		f.buf = make([]byte, firstBuffer)
	}
}

// compact moves the command being read to the beginning of buf.
func (f *framer) compact(buf []byte) {
	n := copy(buf, f.buf[f.start:f.end])
	f.buf = buf
	f.pos -= f.start
	f.start, f.end = 0, n
}

// grownSize doubles the buffer, or takes just what the argument at hand needs when that is less.
func (f *framer) grownSize() int {
	size := 2 * len(f.buf)
	if need := f.pos + f.bulk + 2 + leastRoom; f.bulk != noBulk && f.end+leastRoom < need && need < size {
		size = need
	}
	return size
}

// next returns the next complete command line, or nil when more bytes are needed. An error is the reply with which
// the connection must end. Empty commands are skipped, as Redis does.
func (f *framer) next() ([]string, error) {
	for f.pos < f.end {
		var line []string
		var more bool
		var err error
		switch {
		case f.missing > 0:
			line, more, err = f.argument()
		case f.buf[f.pos] == '*':
			more, err = f.count()
		default:
			line, more, err = f.inline()
		}
		if more || err != nil || len(line) > 0 {
			return line, err
		}
	}
	return nil, nil
}

// inline reads a command that is a line of words.
func (f *framer) inline() (line []string, more bool, err error) {
	text, more, err := f.line('\n', 1, resp.ErrLongInline)
	if more || err != nil {
		return nil, more, err
	}
	f.start = f.pos
	line, err = splitInline(string(bytes.TrimSuffix(text, []byte{'\r'})))
	return line, false, err
}

// count reads the line "*n" in front of a command.
func (f *framer) count() (more bool, err error) {
	text, more, err := f.line('\r', 2, resp.ErrLongCount)
	if more || err != nil {
		return more, err
	}
	n, bad := args.Int(string(text[1:]))
	switch {
	case bad != nil || n > int64(f.maxArgs):
		return false, resp.ErrTooManyArgs
	case f.anonymous && n > anonymousMaxArgs:
		return false, resp.ErrAnonymousArgs
	case n <= 0:
		f.start = f.pos
	default:
		f.missing = int(n)
	}
	return false, nil
}

// argument reads "$n" and the n bytes behind it. It returns the command when that was its last argument.
func (f *framer) argument() (line []string, more bool, err error) {
	if f.bulk == noBulk {
		if more, err := f.length(); more || err != nil {
			return nil, more, err
		}
	}
	if f.end-f.pos < f.bulk+2 { // the argument and its CRLF, which Redis does not check either
		return nil, true, nil
	}
	f.spans = append(f.spans, span{f.pos - f.start, f.pos - f.start + f.bulk})
	f.size += f.bulk
	f.pos += f.bulk + 2
	f.bulk = noBulk
	f.missing--
	if f.missing > 0 {
		return nil, false, nil
	}
	return f.take(), false, nil
}

// length reads the line "$n" in front of an argument.
func (f *framer) length() (more bool, err error) {
	text, more, err := f.line('\r', 2, resp.ErrLongBulkCount)
	if more || err != nil {
		return more, err
	}
	if len(text) == 0 {
		return false, resp.ExpectedDollar('\r')
	}
	if text[0] != '$' {
		return false, resp.ExpectedDollar(text[0])
	}
	n, bad := args.Int(string(text[1:]))
	switch {
	case bad != nil || n < 0 || n > int64(f.maxBulk):
		return false, resp.ErrBulkLength
	case f.anonymous && n > anonymousMaxBulk:
		return false, resp.ErrAnonymousBulk
	case f.size+int(n) > 2*f.maxBulk:
		return false, resp.TooMany("bytes in one command", 2*f.maxBulk)
	}
	f.bulk = int(n)
	return false, nil
}

// line reads up to the byte end and skips width bytes from there on. It asks for more bytes when they are not there
// yet, and fails with tooLong when the line is longer than a line may be.
func (f *framer) line(end byte, width int, tooLong resp.Failure) (text []byte, more bool, err error) {
	at := bytes.IndexByte(f.buf[f.pos+f.seen:f.end], end)
	length := f.seen + at
	if at < 0 {
		length = f.end - f.pos
	}
	switch {
	case length > maxLine:
		return nil, false, tooLong
	case at < 0 || f.pos+length+width > f.end:
		f.seen = length
		return nil, true, nil
	}
	text = f.buf[f.pos : f.pos+length]
	f.pos += length + width
	f.seen = 0
	return text, false, nil
}

// take returns the arguments of the command that ends at pos, as parts of one string, and makes ready for the next.
func (f *framer) take() []string {
	var all strings.Builder
	all.Grow(f.size)
	for _, s := range f.spans {
		all.Write(f.buf[f.start+s.from : f.start+s.to])
	}
	text, line := all.String(), make([]string, len(f.spans))
	for i, s := range f.spans {
		line[i], text = text[:s.to-s.from], text[s.to-s.from:]
	}
	f.start, f.size = f.pos, 0
	f.spans = f.spans[:0]
	if cap(f.spans) > keptBuffer/16 {
		f.spans = nil
	}
	return line
}
