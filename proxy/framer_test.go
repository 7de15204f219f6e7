package proxy

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/redcon"

	"github.com/redfence/redfence/commands/resp"
)

// cut feeds input to a framer in pieces of the given sizes, repeated as needed, and returns the lines and the error.
func cut(f *framer, input []byte, sizes ...int) (lines [][]string, err error) {
	for i := 0; len(input) > 0; i++ {
		piece := min(sizes[i%len(sizes)], len(input))
		n := copy(f.room(), input[:piece])
		f.grown(n)
		input = input[n:]
		for {
			line, err := f.next()
			if err != nil {
				return lines, err
			}
			if line == nil {
				break
			}
			lines = append(lines, line)
		}
	}
	return lines, nil
}

func TestFramerCutsCommands(t *testing.T) {
	tests := map[string]struct {
		input string
		want  [][]string
		err   error
	}{
		"an array":                     {"*2\r\n$3\r\nGET\r\n$1\r\na\r\n", [][]string{{"GET", "a"}}, nil},
		"two arrays":                   {"*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nQUIT\r\n", [][]string{{"PING"}, {"QUIT"}}, nil},
		"empty and binary arguments":   {"*3\r\n$1\r\na\r\n$0\r\n\r\n$3\r\n\r\n\x00\r\n", [][]string{{"a", "", "\r\n\x00"}}, nil},
		"an inline command":            {"PING\r\n", [][]string{{"PING"}}, nil},
		"an inline command without CR": {"SET a  b\n", [][]string{{"SET", "a", "b"}}, nil},
		"inline, then array":           {"PING\r\n*1\r\n$4\r\nPING\r\n", [][]string{{"PING"}, {"PING"}}, nil},
		"a dollar is inline":           {"$3 GET a\r\nPING\r\n", [][]string{{"$3", "GET", "a"}, {"PING"}}, nil},
		"empty commands are skipped":   {"\r\n*0\r\n*-1\r\n  \r\nPING\r\n", [][]string{{"PING"}}, nil},
		"an unfinished command":        {"*2\r\n$3\r\nGET\r\n$5\r\nab", nil, nil},
		"the CRLF of an argument is taken on trust": {
			"*2\r\n$3\r\nGET..$1\r\naxx", [][]string{{"GET", "a"}}, nil,
		},
		"commands before an error count": {"PING\r\n*x\r\n", [][]string{{"PING"}}, resp.ErrTooManyArgs},
		"a count that is no number":      {"*abc\r\n", nil, resp.ErrTooManyArgs},
		"a count without digits":         {"*\r\n", nil, resp.ErrTooManyArgs},
		"a count over the bound":         {"*101\r\n", nil, resp.ErrTooManyArgs},
		"a huge count":                   {"*10000000\r\n", nil, resp.ErrTooManyArgs},
		"a length of 2 GiB":              {"*1\r\n$2147483648\r\n", nil, resp.ErrBulkLength},
		"a negative length":              {"*1\r\n$-1\r\n", nil, resp.ErrBulkLength},
		"a length that is no number":     {"*1\r\n$4x\r\n", nil, resp.ErrBulkLength},
		"no length":                      {"*1\r\nPING\r\n", nil, resp.ExpectedDollar('P')},
		"an empty line for a length":     {"*1\r\n\r\n", nil, resp.ExpectedDollar('\r')},
		"an endless count":               {"*" + strings.Repeat("1", maxLine+1), nil, resp.ErrLongCount},
		"an endless length":              {"*1\r\n$" + strings.Repeat("1", maxLine+1), nil, resp.ErrLongBulkCount},
		"an endless inline command":      {strings.Repeat("a", maxLine+1), nil, resp.ErrLongInline},
		"unbalanced quotes":              {"SET a \"b\r\n", nil, resp.ErrQuotes},
		"a command over the total": {
			"*3\r\n$1024\r\n" + strings.Repeat("a", 1024) + "\r\n$1024\r\n" + strings.Repeat("b", 1024) + "\r\n$1\r\n",
			nil, resp.TooMany("bytes in one command", 2048),
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{len(tt.input), 1, 7} {
				lines, err := cut(newFramer(1024, 100), []byte(tt.input), size)
				require.Equal(t, tt.want, lines, "in pieces of %d", size)
				require.Equal(t, tt.err, err, "in pieces of %d", size)
			}
		})
	}
}

func TestFramerBoundsAnonymousClientsMore(t *testing.T) {
	tests := map[string]struct {
		input string
		want  error
	}{
		"ten arguments":     {"*10\r\n", nil},
		"eleven arguments":  {"*11\r\n", resp.ErrAnonymousArgs},
		"a length of 16384": {"*1\r\n$16384\r\n", nil},
		"a length of 16385": {"*1\r\n$16385\r\n", resp.ErrAnonymousBulk},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFramer(DefaultMaxBulk, DefaultMaxArgs)
			f.anonymous = true
			_, err := cut(f, []byte(tt.input), len(tt.input))
			require.Equal(t, tt.want, err)
		})
	}
}

// A header may announce a lot: only bytes that came cost memory.
func TestFramerMemoryFollowsWhatWasReceived(t *testing.T) {
	f := newFramer(DefaultMaxBulk, DefaultMaxArgs)
	received := 0
	feed := func(text string) {
		_, err := cut(f, []byte(text), len(text))
		require.NoError(t, err)
		received += len(text)
	}
	feed(fmt.Sprintf("*%d\r\n$%d\r\n", DefaultMaxArgs, DefaultMaxBulk))
	require.LessOrEqual(t, len(f.buf), firstBuffer)
	for range 200 {
		feed(strings.Repeat("x", 10_000))
		require.LessOrEqual(t, len(f.buf), 2*received+firstBuffer)
	}
}

func TestFramerGivesMemoryBack(t *testing.T) {
	f := newFramer(DefaultMaxBulk, DefaultMaxArgs)
	huge := array("SET", "a", strings.Repeat("x", 1<<20))
	lines, err := cut(f, []byte(huge), len(huge))
	require.NoError(t, err)
	require.Len(t, lines, 1)
	require.Greater(t, len(f.buf), 1<<20)
	f.room()
	require.Len(t, f.buf, firstBuffer)
}

// What was searched once for a line end is not searched again.
func TestFramerRemembersWhereItSearched(t *testing.T) {
	f := newFramer(DefaultMaxBulk, DefaultMaxArgs)
	for i := 1; i <= maxLine; i++ {
		f.room()[0] = 'a'
		f.grown(1)
		line, err := f.next()
		require.NoError(t, err)
		require.Nil(t, line)
		require.Equal(t, i, f.seen)
	}
}

func TestFramerArgumentsOutliveTheBuffer(t *testing.T) {
	f := newFramer(DefaultMaxBulk, DefaultMaxArgs)
	first, err := cut(f, []byte(array("SET", "key", "value")), 64)
	require.NoError(t, err)
	_, err = cut(f, []byte(strings.Repeat(array("GET", "other-key"), 500)), 64)
	require.NoError(t, err)
	require.Equal(t, [][]string{{"SET", "key", "value"}}, first)
}

// FuzzFramer shows that the cutting of the input into reads makes no difference, that bounds hold, and that what
// redcon accepts in one piece is cut as redcon does.
func FuzzFramer(f *testing.F) {
	f.Add([]byte("*2\r\n$3\r\nGET\r\n$1\r\na\r\nPING\r\n"), uint8(1), uint8(3))
	f.Add([]byte("*1\r\n$2147483648\r\n"), uint8(2), uint8(2))
	f.Add([]byte("*0\r\n*-1\r\n\r\n$3 x\r\nSET \"a\\x41\" 'b\\''\r\n"), uint8(5), uint8(1))
	f.Add([]byte("*3\r\n$0\r\n\r\n$1\r\n\x00\r\n$2\r\n\r\n\r\n"), uint8(4), uint8(9))
	f.Add([]byte("*11\r\n$1\r\na"), uint8(1), uint8(1))
	const bulk, count = 512, 16
	f.Fuzz(func(t *testing.T, input []byte, a, b uint8) {
		whole, wholeErr := cut(newFramer(bulk, count), input, max(1, len(input)))
		pieces := newFramer(bulk, count)
		lines, err := cut(pieces, input, int(a)+1, int(b)+1)
		require.Equal(t, whole, lines)
		require.Equal(t, wholeErr, err)
		require.LessOrEqual(t, len(pieces.buf), 2*len(input)+firstBuffer)
		for _, line := range lines {
			require.LessOrEqual(t, len(strings.Join(line, "")), max(2*bulk, maxLine))
		}
		if first, ok := byRedcon(input); ok && wholeErr == nil && len(whole) > 0 {
			require.Equal(t, first, whole[0])
		}
	})
}

// byRedcon is the first command as redcon reads it, when that is a well-formed array.
func byRedcon(input []byte) ([]string, bool) {
	complete, args, kind, _, err := redcon.ReadNextCommand(bytes.Clone(input), nil)
	if err != nil || !complete || kind != redcon.Redis || len(args) == 0 {
		return nil, false
	}
	line := make([]string, len(args))
	for i := range args {
		line[i] = string(args[i])
	}
	return line, true
}
