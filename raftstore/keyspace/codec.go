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

// encoder writes the primitive parts of a snapshot: varints and strings with their length in front, and at the end
// the CRC-32C of all of it. The first error sticks.
type encoder struct {
	w       *bufio.Writer
	sum     uint32
	n       int64
	err     error
	scratch [binary.MaxVarintLen64]byte
}

func newEncoder(w io.Writer) *encoder { return &encoder{w: bufio.NewWriterSize(w, 1<<16)} }

func (e *encoder) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

func (e *encoder) write(p []byte) {
	n, err := e.w.Write(p)
	e.n += int64(n)
	e.sum = crc32.Update(e.sum, castagnoli, p)
	e.fail(err)
}

func (e *encoder) uint(u uint64) { e.write(binary.AppendUvarint(e.scratch[:0], u)) }
func (e *encoder) int(i int64)   { e.write(binary.AppendVarint(e.scratch[:0], i)) }
func (e *encoder) raw(s string)  { e.write([]byte(s)) }

func (e *encoder) str(s string) {
	e.uint(uint64(len(s)))
	e.raw(s)
}

// close writes the checksum and returns the number of bytes written.
func (e *encoder) close() (int64, error) {
	e.write(binary.BigEndian.AppendUint32(e.scratch[:0], e.sum))
	e.fail(e.w.Flush())
	return e.n, e.err
}

// decoder reads what encoder wrote. After the first error all reads give zero values.
type decoder struct {
	r   *bufio.Reader
	sum uint32
	err error
}

func newDecoder(r io.Reader) *decoder { return &decoder{r: bufio.NewReaderSize(r, 1<<16)} }

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// ReadByte implements io.ByteReader for the varints.
func (d *decoder) ReadByte() (byte, error) {
	b, err := d.r.ReadByte()
	if err == nil {
		d.sum = crc32.Update(d.sum, castagnoli, []byte{b})
	}
	return b, err
}

func (d *decoder) uint() uint64 {
	if d.err != nil {
		return 0
	}
	u, err := binary.ReadUvarint(d)
	d.fail(err)
	return u
}

func (d *decoder) int() int64 {
	if d.err != nil {
		return 0
	}
	i, err := binary.ReadVarint(d)
	d.fail(err)
	return i
}

func (d *decoder) str() string { return string(d.take(d.uint())) }

// chunk bounds what is allocated before the bytes have been seen, so that a damaged length costs no memory.
const chunk = 1 << 20

func (d *decoder) take(n uint64) []byte {
	var p []byte
	for n > 0 && d.err == nil {
		step := min(n, chunk)
		at := len(p)
		p = append(p, make([]byte, step)...)
		_, err := io.ReadFull(d.r, p[at:])
		d.fail(err)
		n -= step
	}
	d.sum = crc32.Update(d.sum, castagnoli, p)
	return p
}

func (d *decoder) expect(magic string) {
	if got := string(d.take(uint64(len(magic)))); d.err == nil && got != magic {
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
	if binary.BigEndian.Uint32(got) != want {
		return errors.New("checksum differs")
	}
	if _, err := d.r.ReadByte(); !errors.Is(err, io.EOF) {
		return errors.New("bytes behind the checksum")
	}
	return nil
}
