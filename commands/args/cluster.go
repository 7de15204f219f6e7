package args

import (
	"strings"

	"github.com/redfence/redfence/commands/resp"
)

// MemberChange is what REDFENCE MEMBER is asked to do.
type MemberChange struct {
	Do     string // "list", "add", "remove" or "transfer"
	Member string // the address to add, or the id or name of a member; empty for "list", and for any follower
	Force  bool   // also when that loses the majority
}

// Member parses REDFENCE MEMBER LIST | ADD host:port | REMOVE member [FORCE] | TRANSFER [member].
func Member(line []string) (MemberChange, error) {
	m := MemberChange{Do: strings.ToLower(line[2])}
	rest := line[3:]
	if m.Do == "remove" && len(rest) == 2 && strings.EqualFold(rest[1], "FORCE") {
		m.Force, rest = true, rest[:1]
	}
	fewest, most := 1, 1
	switch m.Do {
	case "list":
		fewest, most = 0, 0
	case "transfer":
		fewest = 0
	case "add", "remove":
	default:
		return m, resp.ErrSyntax
	}
	if len(rest) < fewest || len(rest) > most {
		return m, resp.ErrSyntax
	}
	if len(rest) == 1 {
		m.Member = rest[0]
	}
	return m, nil
}
