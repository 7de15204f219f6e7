package commands

import (
	"slices"
	"strings"
)

// The table never changes after it was built; it is the only package-level state.
var standard = newTable(firstRows())

// Table is a set of rows that a server answers.
type Table struct {
	rows   []*Spec
	byName map[string]*Spec
}

// Standard is the table of a data server.
func Standard() *Table { return standard }

// newTable numbers rows; a row's subcommands follow it.
func newTable(first []*Spec) *Table {
	t := &Table{}
	for _, s := range first {
		t.rows = append(t.rows, s)
		t.rows = append(t.rows, sortedSubs(s)...)
	}
	for i, s := range t.rows {
		s.ID = i
	}
	t.byName = indexRows(t.rows)
	return t
}

// All returns the rows in the order of their IDs, subcommands included. The slice is shared: read only.
func (t *Table) All() []*Spec { return t.rows }

// Top returns the rows of commands without subcommands.
func (t *Table) Top() []*Spec {
	return slices.DeleteFunc(slices.Clone(t.rows), func(s *Spec) bool { return strings.Contains(s.Name, "|") })
}

// All returns the rows of the standard table.
func All() []*Spec { return standard.rows }

// firstRows makes the rows of all groups.
func firstRows() []*Spec {
	return slices.Concat(connectionRows(), serverRows(), keyRows(), stringRows(), hashRows(), listRows(), setRows(),
		zsetRows(), blockingRows(), pubsubRows(), scriptRows(), transactionRows(), fencingRows(), memberRows())
}

func sortedSubs(s *Spec) []*Spec {
	var subs []*Spec
	for _, sub := range s.Sub {
		subs = append(subs, sub)
	}
	slices.SortFunc(subs, func(a, b *Spec) int { return strings.Compare(a.Name, b.Name) })
	return subs
}

// indexRows maps both spellings that clients use, lower and upper case; Lookup folds the rest.
func indexRows(all []*Spec) map[string]*Spec {
	index := make(map[string]*Spec, 2*len(all))
	for _, s := range all {
		if !strings.Contains(s.Name, "|") {
			index[s.Name] = s
			index[strings.ToUpper(s.Name)] = s
		}
	}
	return index
}

// container makes a row whose subcommands are rows of their own.
func container(name string, group Group, summary string, subs ...*Spec) *Spec {
	s := &Spec{Name: name, Arity: -2, Group: group, Summary: summary, Sub: make(map[string]*Spec, len(subs))}
	if !slices.ContainsFunc(subs, func(s *Spec) bool { return s.Name == "help" }) { // else the backend answers it, for scripts
		subs = append(subs, helpRow())
	}
	for _, sub := range subs {
		s.Sub[sub.Name] = sub
		sub.Name = name + "|" + sub.Name
		sub.Group = group
	}
	return s
}

// Key positions that many rows share.
var (
	oneKey   = KeySpec{First: 1, Last: 1, Step: 1}
	twoKeys  = KeySpec{First: 1, Last: 2, Step: 1}
	allKeys  = KeySpec{First: 1, Last: -1, Step: 1}
	pairKeys = KeySpec{First: 1, Last: -1, Step: 2}
	evalKeys = KeySpec{Num: 2}

	sortKeys = KeySpec{First: 1, Last: 1, Step: 1, Store: true}

	countedKeys = KeySpec{Num: 1}
	targetKeys  = KeySpec{First: 1, Last: 1, Step: 1, Num: 2} // a destination, then counted sources
)

// inGroup files rows under a heading of redis.io.
func inGroup(g Group, specs []*Spec) []*Spec {
	for _, s := range specs {
		s.Group = g
	}
	return specs
}

// parse adapts a typed option parser to the table.
func parse[T any](p func([]string) (T, error)) func([]string) (any, error) {
	return func(line []string) (any, error) { return p(line) }
}
