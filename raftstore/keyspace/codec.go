package keyspace

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// block is how many bytes of a snapshot are gathered before they are written, and how many are read at once. It also
// bounds what is allocated before the bytes have been seen, so that a damaged length costs no memory.
const block = 1 << 16

// encoder writes the primitive parts of a snapshot: varints and strings with their length in front, and at the end
// the CRC-32C of all of it. The first error sticks.
type encoder struct {
	w       io.Writer
	pending []byte
	sum     uint32
	n       int64
	err     error
}

func newEncoder(w io.Writer) *encoder { return &encoder{w: w, pending: make([]byte, 0, 2*block)} }

func (e *encoder) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// flush writes what is pending when that is at least least bytes.
func (e *encoder) flush(least int) {
	if len(e.pending) < least || e.err != nil {
		return
	}
	e.sum = crc32.Update(e.sum, castagnoli, e.pending)
	n, err := e.w.Write(e.pending)
	e.n += int64(n)
	e.fail(err)
	e.pending = e.pending[:0]
}

func (e *encoder) uint(u uint64) { e.pending = binary.AppendUvarint(e.pending, u) }
func (e *encoder) int(i int64)   { e.pending = binary.AppendVarint(e.pending, i) }

func (e *encoder) raw(s string) {
	for len(s) > 0 && e.err == nil {
		n := min(len(s), block)
		e.pending = append(e.pending, s[:n]...)
		s = s[n:]
		e.flush(block)
	}
}

func (e *encoder) str(s string) {
	e.uint(uint64(len(s)))
	e.raw(s)
}

// close writes the checksum and returns the number of bytes written.
func (e *encoder) close() (int64, error) {
	e.flush(0)
	e.pending = binary.BigEndian.AppendUint32(e.pending, e.sum)
	e.flush(0)
	return e.n, e.err
}

// decoder reads what encoder wrote. After the first error all reads give zero values.
type decoder struct {
	r   *bufio.Reader
	sum uint32
	err error
}

func newDecoder(r io.Reader) *decoder { return &decoder{r: bufio.NewReaderSize(r, block)} }

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// peek returns the next n bytes, or fewer at the end of the input. They stay until skip.
func (d *decoder) peek(n int) []byte {
	if d.err != nil {
		return nil
	}
	p, err := d.r.Peek(n)
	if err != nil && !errors.Is(err, io.EOF) {
		d.fail(err)
	}
	return p
}

// skip goes past bytes that peek returned.
func (d *decoder) skip(p []byte) {
	d.sum = crc32.Update(d.sum, castagnoli, p)
	_, err := d.r.Discard(len(p))
	if err != nil {
		d.fail(err)
	}
}

func (d *decoder) uint() uint64 {
	p := d.peek(binary.MaxVarintLen64)
	u, n := binary.Uvarint(p)
	if n <= 0 {
		d.fail(errNumber)
		return 0
	}
	d.skip(p[:n])
	return u
}

func (d *decoder) int() int64 {
	p := d.peek(binary.MaxVarintLen64)
	i, n := binary.Varint(p)
	if n <= 0 {
		d.fail(errNumber)
		return 0
	}
	d.skip(p[:n])
	return i
}

var errNumber = errors.New("a number is cut off or too long")

func (d *decoder) str() string { return d.take(d.uint()) }

func (d *decoder) take(n uint64) string {
	if n <= block {
		return d.piece(int(n))
	}
	var long []byte
	for n > 0 && d.err == nil {
		step := min(n, block)
		long = append(long, d.piece(int(step))...)
		n -= step
	}
	return string(long)
}

// piece reads up to a block.
func (d *decoder) piece(n int) string {
	p := d.peek(n)
	if len(p) < n {
		d.fail(io.ErrUnexpectedEOF)
		return ""
	}
	s := string(p)
	d.skip(p)
	return s
}

func (d *decoder) expect(magic string) {
	if got := d.take(uint64(len(magic))); d.err == nil && got != magic {
		d.fail(fmt.Errorf("it begins with %q", got))
	}
}

// close checks that the checksum and nothing else follows.
func (d *decoder) close() error {
	want := d.sum
	got := d.take(4)
	if d.err != nil {
		return d.err
	}
	if binary.BigEndian.Uint32([]byte(got)) != want {
		return errors.New("checksum differs")
	}
	if len(d.peek(1)) > 0 {
		return errors.New("bytes behind the checksum")
	}
	return d.err
}
