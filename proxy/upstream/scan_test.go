package upstream

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/commands/resp"
)

// scanAll feeds a stream in pieces of n bytes and returns the replies.
func scanAll(t *testing.T, s *scanner, stream string, n int) (replies []string, err error) {
	t.Helper()
	for len(stream) > 0 {
		k := copy(s.room(), stream[:min(n, len(stream))])
		s.grown(k)
		stream = stream[k:]
		for {
			raw, err := s.next()
			if err != nil {
				return replies, err
			}
			if raw == nil {
				break
			}
			replies = append(replies, string(s.own(raw)))
		}
	}
	return replies, nil
}

func TestScannerFindsTheEndsOfReplies(t *testing.T) {
	replies := []string{
		"+OK\r\n", "-ERR no\r\n", ":-1\r\n", "$5\r\na\r\nbc\r\n", "$0\r\n\r\n", "$-1\r\n", "*-1\r\n", "*0\r\n",
		"*2\r\n*1\r\n:1\r\n$1\r\nx\r\n", "_\r\n", "#t\r\n", ",1.5\r\n", "(123\r\n", "=5\r\ntxt:x\r\n",
		"%1\r\n$1\r\nk\r\n*2\r\n:1\r\n:2\r\n", "~2\r\n+a\r\n+b\r\n", ">2\r\n+x\r\n+y\r\n",
		"|1\r\n+ttl\r\n:3\r\n$1\r\nv\r\n", "!5\r\nERR a\r\n", "+last\r\n",
	}
	large := strings.Repeat("x", keptBuffer)
	replies = append(replies, "$"+strconv.Itoa(len(large))+"\r\n"+large+"\r\n", "+behind a large one\r\n")
	var stream string
	for _, r := range replies {
		stream += r
	}
	for n := 1; n <= len(stream); n += 1 + n/30 {
		got, err := scanAll(t, &scanner{limit: 1 << 20}, stream, n)
		require.NoError(t, err)
		require.Equal(t, replies, got, "in pieces of %d bytes", n)
	}
}

func TestScannerRefuses(t *testing.T) {
	tests := map[string]struct {
		stream string
		want   error
	}{
		"a line without CR":       {"+OK\n", resp.ErrMalformed},
		"a length that is none":   {"$x\r\n", resp.ErrMalformed},
		"a negative length":       {"*-2\r\n", resp.ErrMalformed},
		"a bulk over the limit":   {"$101\r\n", errTooLarge},
		"a reply over the limit":  {"*3\r\n$60\r\n" + string(make([]byte, 60)) + "\r\n$60\r\n" + string(make([]byte, 60)), errTooLarge},
		"a number over the limit": {"*101\r\n", errTooLarge},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := scanAll(t, &scanner{limit: 100}, tt.stream, len(tt.stream))
			require.ErrorIs(t, err, tt.want)
		})
	}
}

func FuzzScanner(f *testing.F) {
	f.Add("*2\r\n$1\r\na\r\n%1\r\n+k\r\n:1\r\n", 3)
	f.Fuzz(func(t *testing.T, stream string, n int) {
		if n < 1 {
			return
		}
		whole, err1 := scanAll(t, &scanner{limit: 1 << 10}, stream, len(stream))
		pieces, err2 := scanAll(t, &scanner{limit: 1 << 10}, stream, n)
		if err1 == nil && err2 == nil {
			require.Equal(t, whole, pieces)
		}
	})
}
