package args

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/commands/resp"
)

func TestHello(t *testing.T) {
	me := "me"
	tests := map[string]struct {
		want HelloOptions
		err  error
	}{
		"HELLO":                          {HelloOptions{}, nil},
		"HELLO 3":                        {HelloOptions{Protocol: resp.RESP3}, nil},
		"HELLO 2 setname me":             {HelloOptions{Protocol: resp.RESP2, Name: &me}, nil},
		"HELLO 3 AUTH u p SETNAME me":    {HelloOptions{resp.RESP3, &Credentials{"u", "p", true}, &me}, nil},
		"HELLO 3 SETNAME me AUTH u p":    {HelloOptions{resp.RESP3, &Credentials{"u", "p", true}, &me}, nil},
		"HELLO 3 AUTH AUTH SETNAME":      {HelloOptions{resp.RESP3, &Credentials{"AUTH", "SETNAME", true}, nil}, nil},
		"HELLO AUTH u p":                 {HelloOptions{}, resp.ErrNotProto},
		"HELLO 03":                       {HelloOptions{}, resp.ErrNotProto},
		"HELLO 1":                        {HelloOptions{}, resp.ErrNoProto},
		"HELLO 3 AUTH u":                 {HelloOptions{Protocol: resp.RESP3}, resp.UnknownOption("AUTH")},
		"HELLO 3 SETNAME":                {HelloOptions{Protocol: resp.RESP3}, resp.UnknownOption("SETNAME")},
		"HELLO 99999999999999999999":     {HelloOptions{}, resp.ErrNotProto},
		"HELLO 3 SETNAME me nonsense":    {HelloOptions{Protocol: resp.RESP3, Name: &me}, resp.UnknownOption("nonsense")},
		"HELLO -9223372036854775808 now": {HelloOptions{}, resp.ErrNoProto},
	}
	for line, tt := range tests {
		t.Run(line, func(t *testing.T) {
			o, err := Hello(strings.Split(line, " "))
			require.Equal(t, tt.err, err)
			require.Equal(t, tt.want, o)
		})
	}
}

func TestClientList(t *testing.T) {
	tests := map[string]struct {
		want ClientFilter
		err  error
	}{
		"CLIENT LIST":             {ClientFilter{}, nil},
		"CLIENT LIST TYPE normal": {ClientFilter{ByType: true}, nil},
		"CLIENT LIST type PubSub": {ClientFilter{Type: PubSubClient, ByType: true}, nil},
		"CLIENT LIST TYPE x":      {ClientFilter{}, resp.UnknownClientType("x")},
		"CLIENT LIST ID 3 1":      {ClientFilter{IDs: []int64{3, 1}}, nil},
		"CLIENT LIST ID":          {ClientFilter{}, resp.ErrSyntax},
		"CLIENT LIST x":           {ClientFilter{}, resp.ErrSyntax},
		"CLIENT LIST ID x":        {ClientFilter{}, resp.ErrClientID},
	}
	for line, tt := range tests {
		t.Run(line, func(t *testing.T) {
			f, err := ClientList(strings.Split(line, " "))
			require.Equal(t, tt.err, err)
			require.Equal(t, tt.want, f)
		})
	}
}

// FuzzSession shows that no parser of this file's commands takes a line for more than it is.
func FuzzSession(f *testing.F) {
	for _, line := range []string{
		"HELLO 3 AUTH u p SETNAME n", "AUTH u p", "CLIENT LIST ID 1", "CLIENT REPLY SKIP",
		"WAITAOF 1 2 3", "WAIT 1 2", "COMMAND LIST FILTERBY PATTERN *", "CLIENT SETINFO lib-name x", "PUBSUB CHANNELS *",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, text string) {
		line := strings.Split(text, " ")
		parsers := map[int][]func([]string) error{ // by the arity that the table demands
			1: {of(Hello)},
			2: {of(Auth), of(ClientList), of(CommandList), of(PubSubChannels)},
			3: {of(ClientReply), of(OnOff), of(ClientSetName), of(Wait)},
			4: {of(ClientSetInfo), of(WaitAOF)},
		}
		for least, group := range parsers {
			for _, parse := range group {
				if len(line) < least {
					continue
				}
				if err := parse(line); err != nil {
					require.Regexp(t, `^[A-Z]+ \S`, err.Error()) // as clients expect it: a code and a text
				}
			}
		}
	})
}

func of[T any](parse func([]string) (T, error)) func([]string) error {
	return func(line []string) error {
		_, err := parse(line)
		return err
	}
}
