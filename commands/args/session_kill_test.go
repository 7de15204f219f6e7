package args

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/commands/resp"
)

func TestClientKill(t *testing.T) {
	tests := map[string]struct {
		want KillFilter
		err  error
	}{
		"CLIENT KILL 1.2.3.4:5":                       {KillFilter{Old: true, Addr: "1.2.3.4:5", Me: true}, nil},
		"CLIENT KILL id 5":                            {KillFilter{ID: 5}, nil},
		"CLIENT KILL ID 5 ID 6":                       {KillFilter{ID: 6}, nil},
		"CLIENT KILL ADDR a LADDR b SKIPME NO":        {KillFilter{Addr: "a", Local: "b", Me: true}, nil},
		"CLIENT KILL TYPE pubsub USER default":        {KillFilter{Type: PubSubClient, ByType: true}, nil},
		"CLIENT KILL SKIPME no SKIPME yes":            {KillFilter{}, nil},
		"CLIENT KILL ID 0":                            {KillFilter{Old: false}, resp.ErrKillID},
		"CLIENT KILL ID x":                            {KillFilter{}, resp.ErrKillID},
		"CLIENT KILL TYPE x":                          {KillFilter{}, resp.UnknownClientType("x")},
		"CLIENT KILL USER x":                          {KillFilter{}, resp.NoSuchUser("x")},
		"CLIENT KILL SKIPME x":                        {KillFilter{}, resp.ErrSyntax},
		"CLIENT KILL ID 5 ADDR":                       {KillFilter{ID: 5}, resp.ErrSyntax},
		"CLIENT KILL MAXAGE 5":                        {KillFilter{}, resp.ErrSyntax},
		"CLIENT KILL ID 99999999999999999999 TYPE x":  {KillFilter{}, resp.ErrKillID},
		"CLIENT KILL TYPE master TYPE slave SKIPME x": {KillFilter{Type: ReplicationClient, ByType: true}, resp.ErrSyntax},
	}
	for line, tt := range tests {
		t.Run(line, func(t *testing.T) {
			f, err := ClientKill(strings.Split(line, " "))
			require.Equal(t, tt.err, err)
			require.Equal(t, tt.want, f)
		})
	}
}

func TestClientPause(t *testing.T) {
	tests := map[string]struct {
		want Pause
		err  error
	}{
		"CLIENT PAUSE 10":                  {Pause{10 * time.Millisecond, true}, nil},
		"CLIENT PAUSE 0 all":               {Pause{0, true}, nil},
		"CLIENT PAUSE 10 WRITE":            {Pause{10 * time.Millisecond, false}, nil},
		"CLIENT PAUSE 10 x":                {Pause{}, resp.ErrPauseMode},
		"CLIENT PAUSE x":                   {Pause{}, resp.ErrBadTimeout},
		"CLIENT PAUSE -1":                  {Pause{}, resp.ErrNegativeTimeout},
		"CLIENT PAUSE 10 ALL now":          {Pause{}, resp.WrongUse("CLIENT", "PAUSE")},
		"CLIENT PAUSE 9223372036854775807": {Pause{maxPauseMs * time.Millisecond, true}, nil},
	}
	for line, tt := range tests {
		t.Run(line, func(t *testing.T) {
			p, err := ClientPause(strings.Split(line, " "))
			require.Equal(t, tt.err, err)
			if err == nil {
				require.Equal(t, tt.want, p)
			}
		})
	}
}

// FuzzAdmin shows that errors of these parsers are what clients expect: a code and a text.
func FuzzAdmin(f *testing.F) {
	for _, line := range []string{
		"CLIENT KILL ID 5 SKIPME no", "CLIENT PAUSE 5 WRITE", "CLIENT UNBLOCK 5 ERROR", "CONFIG SET a b", "MEMORY USAGE k SAMPLES 5",
		"SLOWLOG GET -1",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, text string) {
		line := strings.Split(text, " ")
		parsers := map[int][]func([]string) error{ // by the arity that the table demands
			2: {of(SlowlogGet)},
			3: {of(ClientKill), of(ClientPause), of(ClientUnblock), of(MemoryUsage)},
			4: {of(ConfigSet)},
		}
		for least, group := range parsers {
			for _, parse := range group {
				if len(line) >= least {
					if err := parse(line); err != nil {
						require.Regexp(t, `^[A-Z]+ \S`, err.Error())
					}
				}
			}
		}
	})
}
