package cluster

import (
	"errors"
	"fmt"
	"io"
)

// ErrRefused is returned when the other side does not want the connection.
var ErrRefused = errors.New("refused")

// wireVersion is the version of the greeting.
const wireVersion = 1

// maxWord is the largest length of a name in a greeting, in bytes; it is what fits its length byte.
const maxWord = 255

// greeting is what the one who dials says first: the kind, the version, and three words, each behind a byte with its
// length.
type greeting struct {
	kind    byte
	cluster string // the cluster it belongs to; empty when none yet
	from    string // its server id
	to      string // the server id that it wants to talk to; empty is whoever is there
}

// append returns the greeting in wire form behind b.
func (g greeting) append(b []byte) ([]byte, error) {
	b = append(b, g.kind, wireVersion)
	for _, word := range []string{g.cluster, g.from, g.to} {
		if len(word) > maxWord {
			return nil, fmt.Errorf("%q is longer than %d bytes", word, maxWord)
		}
		b = append(b, byte(len(word)))
		b = append(b, word...)
	}
	return b, nil
}

// readGreeting reads a greeting and nothing behind it.
func readGreeting(r io.Reader) (greeting, error) {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return greeting{}, err
	}
	g := greeting{kind: head[0]}
	if head[1] != wireVersion {
		return g, fmt.Errorf("greeting of version %d, this build knows %d", head[1], wireVersion)
	}
	for _, word := range []*string{&g.cluster, &g.from, &g.to} {
		var err error
		if *word, err = readWord(r); err != nil {
			return g, err
		}
	}
	return g, nil
}

func readWord(r io.Reader) (string, error) {
	var size [1]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return "", err
	}
	word := make([]byte, size[0])
	_, err := io.ReadFull(r, word)
	return string(word), err
}

// writeVerdict answers a greeting: an empty word is agreement, else it says why not.
func writeVerdict(w io.Writer, why string) error {
	if len(why) > maxWord {
		why = why[:maxWord]
	}
	_, err := w.Write(append([]byte{byte(len(why))}, why...))
	return err
}

// readVerdict returns nil when the other side agrees.
func readVerdict(r io.Reader) error {
	why, err := readWord(r)
	if err != nil {
		return err
	}
	if why != "" {
		return fmt.Errorf("%w: %s", ErrRefused, why)
	}
	return nil
}
