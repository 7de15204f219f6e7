package upstream

import (
	"strconv"
	"strings"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/proxy"
)

// table is what a server's COMMAND says (https://redis.io/docs/latest/commands/command/): rows by lower-case name, those of
// subcommands as "xgroup|create".
type table map[string]row

type row struct {
	spec *commands.Spec
	keys []keySpec
}

// keySpec locates keys as Redis 7 describes it (https://redis.io/docs/latest/develop/reference/key-specs/).
type keySpec struct {
	index   int    // where the search begins: the first key, or the argument that counts them
	keyword string // unless empty: behind this word, looked for from from on
	from    int
	counted bool // the keys are counted by an argument
	count   int  // counted: the place of that argument, from the beginning of the search
	first   int  // counted: the place of the first key
	last    int  // else: the last key from the beginning of the search; negative counts from the end of the line
	step    int
	limit   int // else, with last -1: 2 means only the first half of what is left, and so on
}

// describe looks up a command line.
func (t table) describe(line []string) (proxy.Described, error) {
	r, ok := t[strings.ToLower(line[0])]
	if ok && len(line) > 1 {
		if sub, is := t[strings.ToLower(line[0])+"|"+strings.ToLower(line[1])]; is {
			r = sub
		}
	}
	switch {
	case !ok:
		return proxy.Described{}, resp.UnknownCommand(line)
	case streams(r.spec.Name):
		return proxy.Described{}, resp.NotPassed(r.spec.Name)
	}
	var keys []string
	for _, k := range r.keys {
		keys = append(keys, k.of(line)...)
	}
	return proxy.Described{Spec: r.spec, Keys: keys}, nil
}

// streams tells whether a command is answered by a stream that has no end.
func streams(name string) bool { return name == "monitor" || name == "sync" || name == "psync" }

// of returns the keys of a line. What does not fit it is no key; the server will refuse the line.
func (k keySpec) of(line []string) []string {
	begin := k.index
	if k.keyword != "" {
		if begin = k.search(line); begin < 0 {
			return nil
		}
	}
	if k.counted {
		return k.countedKeys(line, begin)
	}
	last := begin + k.last
	if k.last < 0 {
		last = len(line) + k.last
		if k.limit > 1 {
			last = begin + (len(line)-begin)/k.limit - 1
		}
	}
	var keys []string
	for i := begin; i <= last && i < len(line); i += max(1, k.step) {
		keys = append(keys, line[i])
	}
	return keys
}

// search returns the place behind the keyword, or -1.
func (k keySpec) search(line []string) int {
	if k.from < 0 {
		for i := len(line) + k.from; i > 0; i-- {
			if strings.EqualFold(line[i], k.keyword) {
				return i + 1
			}
		}
		return -1
	}
	for i := k.from; i < len(line); i++ {
		if strings.EqualFold(line[i], k.keyword) {
			return i + 1
		}
	}
	return -1
}

func (k keySpec) countedKeys(line []string, begin int) []string {
	at, first := begin+k.count, begin+k.first
	if at >= len(line) || first > len(line) {
		return nil
	}
	n, err := strconv.Atoi(line[at])
	if err != nil || n < 0 {
		return nil
	}
	var keys []string
	for i := first; n > 0 && i < len(line); i, n = i+max(1, k.step), n-1 {
		keys = append(keys, line[i])
	}
	return keys
}

// The fields of one command in the reply of COMMAND, by place. Redis 6 has the first seven.
const (
	fieldName = iota
	fieldArity
	fieldFlags
	fieldFirst
	fieldLast
	fieldStep
	_ // categories of ACL
	_ // tips
	fieldKeys
	fieldSubs
)

// readTable reads the reply of COMMAND.
func readTable(reply resp.Value) table {
	t := table{}
	t.add(reply.Elems)
	return t
}

func (t table) add(list []resp.Value) {
	for _, c := range list {
		if len(c.Elems) <= fieldStep {
			continue
		}
		r := readRow(c.Elems)
		t[r.spec.Name] = r
		if len(c.Elems) > fieldSubs {
			t.add(c.Elems[fieldSubs].Elems)
		}
	}
}

func readRow(fields []resp.Value) row {
	r := row{spec: &commands.Spec{
		Name: strings.ToLower(fields[fieldName].Str), Arity: int(fields[fieldArity].Int()), Raft: commands.Change,
	}}
	for _, flag := range fields[fieldFlags].Elems {
		switch strings.TrimPrefix(flag.Str, "CMD_") {
		case "blocking":
			r.spec.Flags |= commands.Blocking
		case "readonly":
			r.spec.Flags |= commands.ReadOnly
		case "no_multi":
			r.spec.Flags |= commands.NoMulti
		}
	}
	if len(fields) > fieldKeys && len(fields[fieldKeys].Elems) > 0 {
		for _, spec := range fields[fieldKeys].Elems {
			if k, ok := readKeySpec(spec); ok {
				r.keys = append(r.keys, k)
			}
		}
		return r
	}
	if first := int(fields[fieldFirst].Int()); first > 0 {
		last := int(fields[fieldLast].Int())
		if last > 0 {
			last -= first
		}
		r.keys = []keySpec{{index: first, last: last, step: int(fields[fieldStep].Int())}}
	}
	return r
}

// readKeySpec reads one description. One that Redis itself calls unknown is none.
func readKeySpec(v resp.Value) (k keySpec, ok bool) {
	begin, find := field(v, "begin_search"), field(v, "find_keys")
	b, f := field(begin, "spec"), field(find, "spec")
	switch field(begin, "type").Str {
	case "index":
		k.index = number(b, "index")
	case "keyword":
		k.keyword, k.from = field(b, "keyword").Str, number(b, "startfrom")
	default:
		return k, false
	}
	switch field(find, "type").Str {
	case "range":
		k.last, k.step, k.limit = number(f, "lastkey"), number(f, "keystep"), number(f, "limit")
	case "keynum":
		k.counted, k.count, k.first, k.step = true, number(f, "keynumidx"), number(f, "firstkey"), number(f, "keystep")
	default:
		return k, false
	}
	return k, true
}

// field returns a value of a map, which RESP2 writes as an array.
func field(v resp.Value, name string) resp.Value {
	for i := 0; i+1 < len(v.Elems); i += 2 {
		if v.Elems[i].Str == name {
			return v.Elems[i+1]
		}
	}
	return resp.Value{}
}

func number(v resp.Value, name string) int {
	n := field(v, name)
	if n.Kind != resp.Integer {
		return 0
	}
	return int(n.Int())
}
