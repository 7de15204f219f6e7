package upstream

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	one, err := parse("redis://app:s%40cret@h:6379")
	require.NoError(t, err)
	require.Equal(t, target{name: "redis://h:6379", addr: "h:6379", user: "app", password: "s@cret"}, one)
	require.Equal(t, []string{"AUTH", "app", "s@cret"}, one.auth())

	many, err := parse("sentinel://:p@a:1,b:2/mymaster")
	require.NoError(t, err)
	require.Equal(t, []string{"a:1", "b:2"}, many.sentinels)
	require.Equal(t, "mymaster", many.master)
	require.Equal(t, []string{"AUTH", "p"}, many.auth())

	secure, err := parse("rediss://h:6379")
	require.NoError(t, err)
	require.Equal(t, "h", secure.secure.ServerName)
	require.Nil(t, secure.auth())
}

func TestParseRefusesWithoutTellingTheSecret(t *testing.T) {
	for name, url := range map[string]string{
		"no scheme": "h:6379", "a database": "redis://:secret@h:1/2", "no port": "redis://:secret@h", "no master": "sentinel://h:1",
		"a bad code": "redis://u:%zzsecret@h:1", "no colon": "redis://secret@h:1", "another scheme": "unix:///s",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse(url)
			require.Error(t, err)
			require.NotContains(t, err.Error(), "secret")
		})
	}
}
