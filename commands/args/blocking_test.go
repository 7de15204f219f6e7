package args

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/commands/resp"
)

// TestTimeouts holds what redis-server 7.0.15 answers; where it waits for longer than anybody lives, so do we.
func TestTimeouts(t *testing.T) {
	tests := map[string]struct {
		want time.Duration
		err  error
	}{
		"0":                {0, nil},
		"-0":               {0, nil},
		"1":                {time.Second, nil},
		"0.25":             {250 * time.Millisecond, nil},
		"+1.5":             {1500 * time.Millisecond, nil},
		"1e-9":             {time.Millisecond, nil},
		"0.0011":           {2 * time.Millisecond, nil},
		"-0.0001":          {0, nil},
		"-0.001":           {0, nil}, // times 1000 it is a little above -1
		"-0.003":           {0, resp.ErrNegativeTimeout},
		"-1":               {0, resp.ErrNegativeTimeout},
		"0x10":             {16 * time.Second, nil},
		"3e9":              {3e9 * time.Second, nil},
		"1e10":             {0, nil},
		"9223372036854775": {0, nil},
		"9223372036854776": {0, resp.ErrNegativeTimeout},
		"1e300":            {0, resp.ErrNegativeTimeout},
		"inf":              {0, resp.ErrNegativeTimeout},
		"-inf":             {0, resp.ErrNegativeTimeout},
		"nan":              {0, resp.ErrTimeoutNotFloat},
		"":                 {0, resp.ErrTimeoutNotFloat},
		"\x201":            {0, resp.ErrTimeoutNotFloat},
		"1s":               {0, resp.ErrTimeoutNotFloat},
	}
	for word, tt := range tests {
		t.Run(word, func(t *testing.T) {
			o, err := BlockingPop([]string{"BLPOP", "a", "b", word})
			require.Equal(t, tt.err, err)
			require.Equal(t, tt.want, o.Timeout)
			require.Equal(t, []string{"a", "b"}, o.Keys)
		})
	}
}

func FuzzTimeout(f *testing.F) {
	for _, seed := range []string{"0", "0.1", "-1", "1e300", "inf", "nan", "0x1p-7", "9223372036854775.8"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, word string) {
		o, err := BlockingPop([]string{"BLPOP", "k", word})
		if err == nil && o.Timeout < 0 {
			t.Errorf("timeout %v", o.Timeout)
		}
	})
}
