package node

import (
	"bufio"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
)

func TestReadReply(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       any
	}{
		{"status", "+OK\r\n", "OK"},
		{"error", "-ERR no\r\n", replyError("ERR no")},
		{"number", ":-7\r\n", int64(-7)},
		{"bulk", "$5\r\na\r\nbc\r\n", "a\r\nbc"},
		{"empty bulk", "$0\r\n\r\n", ""},
		{"no bulk", "$-1\r\n", nil},
		{"no array", "*-1\r\n", nil},
		{"array", "*4\r\n:1\r\n$-1\r\n-OOM\r\n*1\r\n+x\r\n", []any{int64(1), nil, replyError("OOM"), []any{"x"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := bufio.NewReader(strings.NewReader(tt.text + "+next\r\n"))
			got, err := readReply(r)
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Fatalf("%#v, %v, want %#v", got, err, tt.want)
			}
			if next, err := readReply(r); err != nil || next != "next" {
				t.Errorf("then %#v, %v", next, err)
			}
			for n := range len(tt.text) {
				if _, err := readReply(bufio.NewReader(strings.NewReader(tt.text[:n]))); !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Fatalf("%q: %v", tt.text[:n], err)
				}
			}
		})
	}
	for _, text := range []string{"\r\n", "OK\r\n", ":x\r\n", "$x\r\n", "$999999999999\r\n", "+" + strings.Repeat("x", 8000) + "\r\n", ":1\n"} {
		if got, err := readReply(bufio.NewReader(strings.NewReader(text))); !errors.Is(err, errProtocol) {
			t.Errorf("%.20q: %#v, %v", text, got, err)
		}
	}
}
