package keyspace

import "github.com/redfence/redfence/commands"

// grants are the tokens that were given since it was said that they are to be told.
type grants struct {
	told, kept bool
	list       []granted
}

// granted is a key that was given a token, or kept the one that it had.
type granted struct {
	opened
	kept bool
}

// TellGrants begins a new list of the tokens that are given from now on, or says that there is to be none. With kept it has
// those of keys that are changed in place as well.
func (t *Txn) TellGrants(yes, kept bool) { t.grants = grants{told: yes || kept, kept: kept} }

// replaced takes down that o takes the place of old; both may be nil.
func (g *grants) replaced(db int, old, o *object) {
	if !g.told || o == nil {
		return
	}
	if kept := old != nil && old.token == o.token; g.kept || !kept {
		g.list = append(g.list, granted{opened{db, o}, kept})
	}
}

// Grants are the keys that were given a token since TellGrants and have it now, in the order in which that came about. What
// was taken back, or is gone again, is not among them.
func (t *Txn) Grants() (list []commands.Grant) {
	for _, g := range t.grants.list {
		now, ok := t.ks.dbs[g.db].keys.get(g.o.key)
		if ok && now.token == g.o.token {
			list = append(list, commands.Grant{Key: now.key, Token: now.token, Kept: g.kept})
		}
	}
	return list
}
