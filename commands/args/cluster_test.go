package args

import (
	"errors"
	"strings"
	"testing"

	"github.com/redfence/redfence/commands/resp"
)

func TestMember(t *testing.T) {
	tests := []struct {
		line string
		want MemberChange
		err  error
	}{
		{line: "LIST", want: MemberChange{Do: "list"}},
		{line: "list x", err: resp.ErrSyntax},
		{line: "ADD a:1", want: MemberChange{Do: "add", Member: "a:1"}},
		{line: "ADD", err: resp.ErrSyntax},
		{line: "ADD a:1 FORCE", err: resp.ErrSyntax},
		{line: "REMOVE b", want: MemberChange{Do: "remove", Member: "b"}},
		{line: "REMOVE b force", want: MemberChange{Do: "remove", Member: "b", Force: true}},
		{line: "REMOVE b now", err: resp.ErrSyntax},
		{line: "TRANSFER", want: MemberChange{Do: "transfer"}},
		{line: "TRANSFER b", want: MemberChange{Do: "transfer", Member: "b"}},
		{line: "ELECT", err: resp.ErrSyntax},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			got, err := Member(strings.Fields("REDFENCE MEMBER " + tt.line))
			if !errors.Is(err, tt.err) || err == nil && got != tt.want {
				t.Errorf("%+v, %v; want %+v, %v", got, err, tt.want, tt.err)
			}
		})
	}
}
