package keyspace

import "fmt"

// Scripts is the number of scripts that EVALSHA can run.
func (ks *Keyspace) Scripts() int { return ks.scripts.bySHA.Len() }

// InfoLines are the lines of INFO's section "Keyspace" (https://redis.io/docs/latest/commands/info/): one per
// database that has keys.
func (ks *Keyspace) InfoLines() []string {
	var lines []string
	for i, db := range ks.dbs[:Databases] {
		if n := db.keys.len(); n > 0 {
			lines = append(lines, fmt.Sprintf("db%d:keys=%d,expires=%d,avg_ttl=0", i, n, db.due.Len()))
		}
	}
	return lines
}
