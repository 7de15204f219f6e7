package cluster

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// maxFrame bounds a question and an answer, in bytes.
const maxFrame = 4 << 20

// answerTimeout is how long the one who is asked has for hearing and answering; what takes longer is cut off.
const answerTimeout = 30 * time.Second

// reply is an answer on the wire: JSON behind its length in 4 bytes, big endian, as questions are. JSON, since members of
// several versions talk: fields that one does not know it leaves alone.
type reply struct {
	Error  string          `json:"error,omitempty"`
	Answer json.RawMessage `json:"answer,omitempty"`
}

// AnsweredError is an error that the other side has answered with.
type AnsweredError struct{ Text string }

func (e *AnsweredError) Error() string { return e.Text }

// Ask asks the member at addr a question and decodes its answer. An error that the member itself gave is an AnsweredError;
// others leave open whether the question has arrived.
func Ask(ctx context.Context, p Port, addr string, question, answer any) error {
	conn, err := p.Dial(ctx, addr, Member)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })
	defer stop()
	if err := writeFrame(conn, question); err != nil {
		return fmt.Errorf("asking %s: %w", addr, err)
	}
	var r reply
	if err := readFrame(conn, &r); err != nil {
		return fmt.Errorf("asking %s: %w", addr, errors.Join(context.Cause(ctx), err))
	}
	if r.Error != "" {
		return &AnsweredError{r.Error}
	}
	return json.Unmarshal(r.Answer, answer)
}

// Answer hears one question on a connection, answers it and closes the connection.
func Answer[Q any](conn net.Conn, answer func(context.Context, Q) (any, error)) error {
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	if err := conn.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return err
	}
	var question Q
	if err := readFrame(conn, &question); err != nil {
		return err
	}
	var r reply
	a, err := answer(ctx, question)
	if err == nil {
		r.Answer, err = json.Marshal(a)
	}
	if err != nil {
		r.Error = err.Error()
	}
	return writeFrame(conn, r)
}

func writeFrame(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...))
	return err
}

func readFrame(r io.Reader, v any) error {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > maxFrame {
		return fmt.Errorf("a frame of %d bytes", n)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}
