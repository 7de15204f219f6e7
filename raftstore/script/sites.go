package script

import "errors"

var errUpvalues = errors.New("function has more than 60 upvalues")

// siteKind is a kind of operation whose error text names its operand.
type siteKind uint8

const (
	siteIndex siteKind = iota
	siteCall
	siteArith
	siteNegate
	siteLength
	siteConcat
)

// site is one operation in a script: which operands it has, in the words of Lua's error texts.
type site struct {
	kind  siteKind
	key   string // siteIndex: the constant key
	names []string
}

// sites knows the operations of a script by line. The VM's own errors do not say which local or field was nil, so the
// names come from here; where a line has several candidates that differ, no name is better than a wrong one.
type sites map[int][]site

func (s sites) add(line int, st site) { s[line] = append(s[line], st) }

// name finds the operand with the index i among the operations of a kind (and key, for an index) on a line.
func (s sites) name(line int, kind siteKind, key string, operands, i int) string {
	found, known := "", false
	for _, st := range s[line] {
		if st.kind != kind || st.key != key || len(st.names) != operands {
			continue
		}
		if known && found != st.names[i] {
			return ""
		}
		found, known = st.names[i], true
	}
	return found
}
