package entry

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/redfence/redfence/commands/resp"
)

func TestReader(t *testing.T) {
	text := string(binary.AppendVarint(binary.AppendUvarint(nil, 300), -5)) + "\x01" + "\x03abc" + "rest"
	r := Reader{Text: text}
	if u, i, b, s := r.Uint(), r.Int(), r.Bool(), r.Str(); u != 300 || i != -5 || !b || s != "abc" || r.Bad || r.Text != "rest" {
		t.Errorf("took %d, %d, %v, %q, bad %v, left %q", u, i, b, s, r.Bad, r.Text)
	}
}

func TestReaderOfDamage(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		take func(*Reader)
	}{
		"nothing":           {"", func(r *Reader) { r.Uint() }},
		"half a number":     {"\x80", func(r *Reader) { r.Int() }},
		"a number too long": {strings.Repeat("\xff", 11), func(r *Reader) { r.Uint() }},
		"neither 0 nor 1":   {"\x02", func(r *Reader) { r.Bool() }},
		"a short string":    {"\x04abc", func(r *Reader) { r.Str() }},
		"no reply":          {"\x01\xff", func(r *Reader) { r.Value() }},
		"a reply and more":  {"\x02\x00\x00", func(r *Reader) { r.Value() }},
	} {
		t.Run(name, func(t *testing.T) {
			r := Reader{Text: c.text}
			if c.take(&r); !r.Bad {
				t.Fatal("not noticed")
			}
			r.Text = "\x01\x01a"
			if u, s, v := r.Uint(), r.Str(), r.Value(); u != 0 || s != "" || v.Kind != resp.Null {
				t.Errorf("then it took %d, %q, %v", u, s, v)
			}
		})
	}
}
