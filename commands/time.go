package commands

import (
	"strconv"

	"github.com/redfence/redfence/commands/resp"
)

// TimeReply is the reply of TIME (https://redis.io/docs/latest/commands/time/) for a wall clock in µs since the Unix
// epoch: seconds, and the microseconds of the second.
func TimeReply(wall int64) resp.Value {
	return resp.Strs(strconv.FormatInt(wall/1e6, 10), strconv.FormatInt(wall%1e6, 10))
}
