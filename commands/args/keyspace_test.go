package args_test

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
)

// line splits at blanks; "" stands for an empty argument.
func line(text string) []string {
	words := strings.Fields(text)
	for i := range words {
		if words[i] == `""` {
			words[i] = ""
		}
	}
	return words
}

func TestSet(t *testing.T) {
	tests := []struct {
		line string
		want args.SetOptions
		err  error
	}{
		{"SET k v", args.SetOptions{}, nil},
		{"SET k v NX PX 30000", args.SetOptions{When: args.IfAbsent, Expiry: args.Expiry{Unit: args.Millis, Ms: 30000}}, nil},
		{"SET k v px 5 nx", args.SetOptions{When: args.IfAbsent, Expiry: args.Expiry{Unit: args.Millis, Ms: 5}}, nil},
		{"SET k v XX EX 5", args.SetOptions{When: args.IfPresent, Expiry: args.Expiry{Unit: args.Seconds, Ms: 5000}}, nil},
		{"SET k v EXAT 5", args.SetOptions{Expiry: args.Expiry{Unit: args.UnixSeconds, Ms: 5000}}, nil},
		{"SET k v PXAT 5", args.SetOptions{Expiry: args.Expiry{Unit: args.UnixMillis, Ms: 5}}, nil},
		{"SET k v KeepTTL gEt", args.SetOptions{KeepTTL: true, Get: true}, nil},
		{"SET k v FENCE NX", args.SetOptions{When: args.IfAbsent, Fence: true}, nil},
		{"SET k v FENCE GET", args.SetOptions{}, resp.ErrFenceWithGet},
		{"SET k v NX XX", args.SetOptions{}, resp.ErrSyntax},
		{"SET k v EX", args.SetOptions{}, resp.ErrSyntax},
		{"SET k v EX 1 PX 1", args.SetOptions{}, resp.ErrSyntax},
		{"SET k v EX 1 KEEPTTL", args.SetOptions{}, resp.ErrSyntax},
		{"SET k v KEEPTTL EX 1", args.SetOptions{}, resp.ErrSyntax},
		{"SET k v EX abc WHAT", args.SetOptions{}, resp.ErrSyntax},
		{"SET k v EX abc", args.SetOptions{}, resp.ErrNotInteger},
		{"SET k v EX 0", args.SetOptions{}, resp.InvalidExpire("set")},
		{"SET k v EX 9223372036854775807", args.SetOptions{}, resp.InvalidExpire("set")},
		{"SET k v IFEQ w", args.SetOptions{When: args.IfEqual, Match: "w"}, nil},
		{`SET k v ifeq "" PX 5`, args.SetOptions{When: args.IfEqual, Expiry: args.Expiry{Unit: args.Millis, Ms: 5}}, nil},
		{"SET k v PX 5 IFNE NX", args.SetOptions{When: args.IfOther, Match: "NX", Expiry: args.Expiry{Unit: args.Millis, Ms: 5}}, nil},
		{"SET k v IFDEQ 9555e8555c62dcfd GET", args.SetOptions{When: args.IfDigest, Match: "9555e8555c62dcfd", Get: true}, nil},
		{"SET k v IFDNE short FENCE", args.SetOptions{When: args.IfOtherDigest, Match: "short", Fence: true}, nil},
		{"SET k v IFEQ", args.SetOptions{}, resp.ErrSyntax},
		{"SET k v IFEQ w NX", args.SetOptions{}, resp.ErrSyntax},
		{"SET k v XX IFEQ w", args.SetOptions{}, resp.ErrSyntax},
		{"SET k v IFEQ w IFNE w", args.SetOptions{}, resp.ErrSyntax},
		{"SET k v IFDNE w IFDEQ w", args.SetOptions{}, resp.ErrSyntax},
		{"SET k v NX\u017f", args.SetOptions{}, resp.ErrSyntax},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			got, err := args.Set(line(tt.line))
			if !errors.Is(err, tt.err) || (err == nil && got != tt.want) {
				t.Errorf("%+v, %v; want %+v, %v", got, err, tt.want, tt.err)
			}
		})
	}
}

func TestDelex(t *testing.T) {
	tests := []struct {
		line  string
		want  args.Comparison
		err   error
		check error // once a string is found
	}{
		{"DELEX k", args.Comparison{}, nil, nil},
		{"DELEX k IFEQ v", args.Comparison{When: args.IfEqual, Match: "v"}, nil, nil},
		{"DELEX k ifne v", args.Comparison{When: args.IfOther, Match: "v"}, nil, nil},
		{"DELEX k IFDEQ 9555e8555c62dcfd", args.Comparison{When: args.IfDigest, Match: "9555e8555c62dcfd"}, nil, nil},
		{"DELEX k IFDNE zzzzzzzzzzzzzzzz", args.Comparison{When: args.IfOtherDigest, Match: "zzzzzzzzzzzzzzzz"}, nil, nil},
		{"DELEX k IFDEQ 955", args.Comparison{When: args.IfDigest, Match: "955"}, nil, resp.ErrDigestLength},
		{`DELEX k IFDNE ""`, args.Comparison{When: args.IfOtherDigest}, nil, resp.ErrDigestLength},
		{"DELEX k IFEQ", args.Comparison{}, resp.WrongArity("delex"), nil},
		{"DELEX k IFEQ v x", args.Comparison{}, resp.WrongArity("delex"), nil},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			got, err := args.Delex(line(tt.line))
			if !errors.Is(err, tt.err) || (err == nil && got != tt.want) {
				t.Errorf("%+v, %v; want %+v, %v", got, err, tt.want, tt.err)
			}
			if err := got.Check(); !errors.Is(err, tt.check) {
				t.Errorf("check: %v, want %v", err, tt.check)
			}
		})
	}
	odd, err := args.Delex(line("DELEX k NX v"))
	if err != nil || !errors.Is(odd.Check(), resp.ErrDelexCondition) {
		t.Errorf("an unknown condition: %v, then %v", err, odd.Check())
	}
}

func TestSort(t *testing.T) {
	all := args.SortOptions{Count: -1}
	with := func(change func(*args.SortOptions)) args.SortOptions {
		o := all
		change(&o)
		return o
	}
	tests := []struct {
		line string
		want args.SortOptions
		err  error
	}{
		{"SORT k", all, nil},
		{"SORT k DESC ASC", all, nil},
		{"SORT k desc ALPHA", with(func(o *args.SortOptions) { o.Desc, o.Alpha = true, true }), nil},
		{"SORT k BY w*", with(func(o *args.SortOptions) { o.By, o.ByPattern = "w*", true }), nil},
		{"SORT k BY w BY w*", with(func(o *args.SortOptions) { o.By, o.ByPattern, o.Unsorted = "w*", true, true }), nil},
		{"SORT k LIMIT -1 5", with(func(o *args.SortOptions) { o.Offset, o.Count = -1, 5 }), nil},
		{"SORT k GET # GET a*", with(func(o *args.SortOptions) { o.Get = []string{"#", "a*"} }), nil},
		{"SORT k GET STORE STORE d", with(func(o *args.SortOptions) { o.Get, o.Store, o.Stores = []string{"STORE"}, "d", true }), nil},
		{"SORT k LIMIT 1", all, resp.ErrSyntax},
		{"SORT k LIMIT a 1", all, resp.ErrNotInteger},
		{"SORT k BY", all, resp.ErrSyntax},
		{"SORT k STORE", all, resp.ErrSyntax},
		{"SORT k WHAT", all, resp.ErrSyntax},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			got, err := args.Sort(line(tt.line))
			if !errors.Is(err, tt.err) || (err == nil && !reflect.DeepEqual(got, tt.want)) {
				t.Errorf("%+v, %v; want %+v, %v", got, err, tt.want, tt.err)
			}
		})
	}
	if _, err := args.SortRO(line("SORT_RO k STORE d")); !errors.Is(err, resp.ErrSyntax) {
		t.Errorf("SORT_RO with STORE: %v", err)
	}
}

func TestSetOfAnAcquireAllocatesNothing(t *testing.T) {
	words := line("set k v nx px 30000")
	if n := testing.AllocsPerRun(100, func() { _, _ = args.Set(words) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestExpire(t *testing.T) {
	tests := []struct {
		line string
		unit args.Unit
		want args.ExpireOptions
		err  error
	}{
		{"EXPIRE k 5", args.Seconds, args.ExpireOptions{Expiry: args.Expiry{Unit: args.Seconds, Ms: 5000}}, nil},
		{
			"EXPIRE k -5 gt XX", args.Millis,
			args.ExpireOptions{Expiry: args.Expiry{Unit: args.Millis, Ms: -5}, When: args.IfGreater | args.IfTTL},
			nil,
		},
		{"EXPIRE k 5 NX NX", args.Millis, args.ExpireOptions{Expiry: args.Expiry{Unit: args.Millis, Ms: 5}, When: args.IfNoTTL}, nil},
		{"EXPIRE k 5 NX XX", args.Millis, args.ExpireOptions{}, resp.ErrExpireNX},
		{"EXPIRE k x GT LT", args.Millis, args.ExpireOptions{}, resp.ErrExpireGTLT},
		{"EXPIRE k x what", args.Millis, args.ExpireOptions{}, resp.UnsupportedOption("what")},
		{"EXPIRE k 1.5", args.Millis, args.ExpireOptions{}, resp.ErrNotInteger},
		{"EXPIRE k 9223372036854776", args.Seconds, args.ExpireOptions{}, resp.InvalidExpire("expire")},
		{"EXPIRE k -9223372036854776", args.UnixSeconds, args.ExpireOptions{}, resp.InvalidExpire("expire")},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			got, err := args.ExpireParser("expire", tt.unit)(line(tt.line))
			if !errors.Is(err, tt.err) || (err == nil && got != tt.want) {
				t.Errorf("%+v, %v; want %+v, %v", got, err, tt.want, tt.err)
			}
		})
	}
}

func TestCursor(t *testing.T) {
	for text, want := range map[string]uint64{
		"": 0, "0": 0, "17": 17, "+5": 5, "-1": math.MaxUint64, "007": 7,
		"18446744073709551615": math.MaxUint64,
	} {
		if got, err := args.Cursor(text); err != nil || got != want {
			t.Errorf("Cursor(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"abc", "1x", " 1", "18446744073709551616", "--1", "-", "1_0", "0x1"} {
		if _, err := args.Cursor(text); !errors.Is(err, resp.ErrCursor) {
			t.Errorf("Cursor(%q): error %v", text, err)
		}
	}
}

func TestLongDouble(t *testing.T) {
	tests := []struct {
		a, b, want string
	}{
		{"0.1", "0.2", "0.3"},
		{"5.0e3", "200", "5200"},
		{"0", "-0", "0"},
		{"-0", "-0", "0"},
		{"1", "-1", "0"},
		{"0x10", "0x.8p1", "17"},
		{"3.", ".5", "3.5"},
		{"1e-18", "0", "0"},
		{"10.50", "0.1", "10.6"},
		{"9223372036854775807", "1", "9223372036854775808"},
		{"1", "1e-17", "1.00000000000000001"},
	}
	for _, tt := range tests {
		a, errA := args.ParseLongDouble(tt.a)
		b, errB := args.ParseLongDouble(tt.b)
		if errA != nil || errB != nil {
			t.Errorf("%s, %s: %v, %v", tt.a, tt.b, errA, errB)
			continue
		}
		if sum, ok := a.Add(b); !ok || sum.String() != tt.want {
			t.Errorf("%s + %s = %s, %v, want %s", tt.a, tt.b, sum, ok, tt.want)
		}
	}
	for _, text := range []string{
		"", " 1", "1 ", "abc", "nan", "1e", "1e99999", "1e-99999", "1e99999999999999999999",
		"1_0", "0b1", "0o1", "+-1", "0x", ".", "1p5", strings.Repeat("1", 6000),
	} {
		if got, err := args.ParseLongDouble(text); !errors.Is(err, resp.ErrNotFloat) {
			t.Errorf("%q: %v", text, got)
		}
	}
	huge, _ := args.ParseLongDouble("1e4932")
	if _, ok := huge.Add(huge); ok {
		t.Error("1e4932 twice is infinite")
	}
	infinite, err := args.ParseLongDouble("-Infinity")
	if _, ok := infinite.Add(huge); err != nil || ok || !infinite.IsInf() {
		t.Errorf("-Infinity: %v", err)
	}
}

// FuzzArgs gives random words to every option parser of the table: none may panic, and every error must be one of
// the wire.
func FuzzArgs(f *testing.F) {
	for _, seed := range []string{
		"NX\x00PX\x0030000", "EX\x0010\x00KEEPTTL", "0\x00MATCH\x00*\x00COUNT\x005", "3\x00WITHVALUES",
		"-1\x00f\x000x1p-5", "DB\x003\x00REPLACE", "1e400", "10\x00GT\x00XX", "2\x00k\x00a", "", "IFEQ\x00v\x00PX\x0010",
		"IFDNE\x009555e8555c62dcfd\x00GET", "IFNE", "ALPHA\x00BY\x00w*\x00GET\x00#\x00LIMIT\x000\x005\x00STORE\x00d",
		"IDX\x00MINMATCHLEN\x002\x00WITHMATCHLEN", "-9223372036854775808",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		words := strings.Split(text, "\x00")
		for _, spec := range commands.All() {
			if spec.Parse == nil {
				continue
			}
			parts := append(strings.Split(spec.Name, "|"), words...)
			for _, full := range [][]string{parts, padded(parts, spec.Arity)} {
				checkParse(t, spec, full)
			}
		}
	})
}

// padded puts keys in front of the words until the line is long enough for its command.
func padded(line []string, arity int) []string {
	if arity < 0 {
		arity = -arity
	}
	for len(line) < arity {
		line = append([]string{line[0], "k"}, line[1:]...)
	}
	return line
}

func checkParse(t *testing.T, spec *commands.Spec, full []string) {
	t.Helper()
	r, err := spec.Bind(full, 0)
	var wire resp.Failure
	switch {
	case err != nil && !errors.As(err, &wire):
		t.Errorf("%q: error %v is none of the wire", full, err)
	case err == nil && r.Opts == nil:
		t.Errorf("%q: no options", full)
	}
	if _, again := spec.Bind(full, 0); !errors.Is(again, err) {
		t.Errorf("%q: %v, then %v", full, err, again)
	}
}
