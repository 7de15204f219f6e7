package entry

import (
	"errors"
	"testing"

	"github.com/redfence/redfence/commands/resp"
)

func values() resp.Value {
	return resp.Arr(
		resp.Value{}, resp.Value{Kind: resp.NullArray}, resp.OK(), resp.Err("ERR x"), resp.Int(-1<<62), resp.Str("a\x00\r\n"), resp.Str(""),
		resp.Arr(), resp.MapOf(resp.Str("k"), resp.Float(1.5)), resp.SetOf(resp.Bool(true), resp.Bool(false)), resp.PushOf(resp.Str("p")),
		resp.Value{Kind: resp.BigNumber, Str: "123"}, resp.Text("t"), resp.PairsOf(resp.Arr(resp.Str("f"), resp.Str("v"))),
	)
}

func TestValuesKeepAllTheyHave(t *testing.T) {
	want := values()
	data := string(AppendValue(nil, want))
	got, rest, err := DecodeValue(data + "rest")
	if err != nil || rest != "rest" || string(AppendValue(nil, got)) != data {
		t.Errorf("read %+v, %q, %v", got, rest, err)
	}
	for at := range data {
		if _, _, err := DecodeValue(data[:at]); !errors.Is(err, ErrCorrupt) {
			t.Errorf("cut at %d: error %v", at, err)
		}
	}
}

func FuzzDecodeValue(f *testing.F) {
	f.Add(string(AppendValue(nil, values())))
	f.Fuzz(func(t *testing.T, text string) {
		v, _, err := DecodeValue(text)
		if err != nil {
			return
		}
		again := string(AppendValue(nil, v))
		if back, _, err := DecodeValue(again); err != nil || string(AppendValue(nil, back)) != again {
			t.Fatalf("%+v became %+v, %v", v, back, err)
		}
	})
}
