package args

import (
	"reflect"
	"strings"
	"testing"

	"github.com/redfence/redfence/commands/resp"
)

func TestClientTracking(t *testing.T) {
	for line, want := range map[string]struct {
		options Tracking
		err     error
	}{
		"ON":                              {options: Tracking{On: true}},
		"off":                             {},
		"maybe":                           {err: resp.ErrSyntax},
		"ON OPTIN":                        {options: Tracking{On: true, OptIn: true}},
		"on optout noloop":                {options: Tracking{On: true, OptOut: true, NoLoop: true}},
		"ON BCAST PREFIX a NOLOOP":        {options: Tracking{On: true, Broadcast: true, NoLoop: true, Prefixes: []string{"a"}}},
		"ON PREFIX a PREFIX prefix BCAST": {options: Tracking{On: true, Broadcast: true, Prefixes: []string{"a", "prefix"}}},
		"ON REDIRECT 7":                   {options: Tracking{On: true, Redirected: true, Redirect: 7}},
		"ON REDIRECT 0":                   {options: Tracking{On: true, Redirected: true}},
		"ON REDIRECT x":                   {err: resp.ErrNotInteger},
		"ON REDIRECT 1 REDIRECT 2":        {err: resp.ErrRedirectTwice},
		"ON REDIRECT":                     {err: resp.ErrSyntax},
		"ON PREFIX":                       {err: resp.ErrSyntax},
		"ON FOO":                          {err: resp.ErrSyntax},
		"maybe REDIRECT x":                {err: resp.ErrNotInteger}, // options come first
	} {
		t.Run(line, func(t *testing.T) {
			got, err := ClientTracking(append([]string{"CLIENT", "TRACKING"}, strings.Fields(line)...))
			if err != want.err { //nolint:errorlint // wire errors are never wrapped
				t.Fatalf("error %v, want %v", err, want.err)
			}
			if err == nil && !reflect.DeepEqual(got, want.options) {
				t.Errorf("%+v, want %+v", got, want.options)
			}
		})
	}
}
