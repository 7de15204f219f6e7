package proxy

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSmoke(t *testing.T) {
	_, addr := start(t, Config{})
	c := dial(t, addr)
	require.Equal(t, "+PONG", c.do("PING"))
	require.Equal(t, "$1 b", c.do("SET a b"))
	require.Equal(t, "*3 $9 subscribe $1 x :1", c.do("SUBSCRIBE x"))
	require.Contains(t, c.do("GET a"), "Can't execute 'get'")
	require.Equal(t, "*3 $11 unsubscribe $1 x :0", c.do("UNSUBSCRIBE"))
	require.Contains(t, c.do("HELLO 3"), "%7 $6 server $5 redis")
	require.Contains(t, c.do("INFO"), "redis_version")
	require.Contains(t, c.do("COMMAND INFO GET"), "get")
	require.Equal(t, "+OK", c.do("QUIT"))
	require.Empty(t, c.rest())
}
