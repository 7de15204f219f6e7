package resp

import "testing"

func TestPairs(t *testing.T) {
	v := PairsOf(Str("a"), Int(1), Str("b"), Int(2))
	for p, want := range map[Protocol]string{
		RESP2: "*4\r\n$1\r\na\r\n:1\r\n$1\r\nb\r\n:2\r\n",
		RESP3: "*2\r\n*2\r\n$1\r\na\r\n:1\r\n*2\r\n$1\r\nb\r\n:2\r\n",
	} {
		if got := string(Append(nil, v, p)); got != want {
			t.Errorf("RESP%d: %q, want %q", p, got, want)
		}
	}
}
