package runner

import "testing"

// FuzzDecode wants that no answer of a node makes the proxy panic.
func FuzzDecode(f *testing.F) {
	f.Add("A1796000000000000 *7\r\n+OK\r\n:0\r\n*0\r\n*0\r\n*0\r\n*0\r\n*0\r\n")
	f.Add("a1796000000 5 1 3 7 0 1796000030000 0 2 ab")
	f.Add("a1796000000 5 1 10 5 3 1 0 ab")
	f.Add("1 0 5 3 1 0 ab")
	f.Add("V5 canary")
	f.Add("N5 OOM")
	f.Fuzz(func(t *testing.T, answer string) {
		ops := []Op{
			runOf(t, "id", "SET", "k", "v", "NX", "PX", "1"), runOf(t, "id", "GET", "k"), runOf(t, "id", "ZMPOP", "1", "k", "MIN"),
			runOf(t, "id", "EVAL", lockScripts["redsync touch"].text, "1", "k", "v", "1"), runOf(t, "id", "BZPOPMIN", "k", "0"),
			&Undo{}, &Copy{}, &Accept{}, &Fetch{}, &Scan{}, &Admit{}, &Check{},
		}
		for _, op := range ops {
			if Joins(op) {
				for _, part := range []any{answer, int64(1), int64(0)} {
					_ = DecodeLock(op, []any{"1796000000 5", part}, 0, Asked{}, nil)
				}
				_ = DecodeLock(op, []any{answer, answer}, 0, Asked{}, nil)
				continue
			}
			_ = Args(op, Target{})
			r := Decode(op, answer)
			_ = r.Reason
		}
	})
}

// FuzzCanonical wants that every text ends, and that a canonical text is its own canonical text where it is a form.
func FuzzCanonical(f *testing.F) {
	for _, s := range lockScripts {
		f.Add(s.text)
	}
	f.Add("--[[ x ]] return 'a\\'b'")
	f.Fuzz(func(t *testing.T, text string) {
		c := canonical(text)
		if forms[c] != nil && forms[canonical(c)] == nil {
			t.Errorf("%q is a form, but %q is none", text, c)
		}
	})
}
