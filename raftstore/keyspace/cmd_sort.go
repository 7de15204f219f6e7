package keyspace

import (
	"cmp"
	"slices"
	"strings"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
)

// Bounds of SORT, which could otherwise make a small request a long stop of the state machine, or a state that no
// machine holds: each element may look up a long string in each of many GETs.
const (
	maxSortLookups = 1 << 20
	maxSortStored  = 48 << 20 // bytes
	lookupBytes    = 64       // what a look-up counts for against the memory that a script may use
)

// sortable is an element with what it is compared by: a number, or a text that may be absent.
type sortable struct {
	element string
	score   float64
	text    string
	absent  bool
}

// sortKey implements SORT (https://redis.io/docs/latest/commands/sort/) and SORT_RO. Texts are compared byte by byte,
// as Redis does in the locale C.
func sortKey(t *Txn, r *commands.Request) resp.Value {
	opts, _ := r.Opts.(args.SortOptions)
	elements, isSet, err := t.sortElements(r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	if opts.Unsorted && isSet { // as Redis does in scripts and for STORE: an order that is the same everywhere
		opts.Unsorted, opts.Alpha, opts.ByPattern = false, true, false
	}
	if opts.ByPattern && !opts.Unsorted && len(elements) > maxSortLookups {
		return resp.ErrSortTooMuch.Value()
	}
	if elements, err = t.sorted(elements, opts); err != nil {
		return resp.ReplyFor(err)
	}
	values, err := t.sortGets(sortLimit(elements, opts), opts)
	switch {
	case err != nil:
		return resp.ReplyFor(err)
	case opts.Stores:
		return t.sortStore(opts.Store, values)
	}
	return resp.Arr(values...)
}

// sortElements are the elements of a list, set or sorted set in its own order.
func (t *Txn) sortElements(key string) (elements []string, isSet bool, err error) {
	o := t.find(key)
	if o == nil {
		return nil, false, nil
	}
	switch c := o.coll.(type) {
	case *list:
		c.each(0, c.len(), func(_ int, s string) bool {
			elements = append(elements, s)
			return true
		})
	case *memberSet:
		return c.list(), true, nil
	case *zset:
		for _, m := range c.list() {
			elements = append(elements, m.member)
		}
	default:
		return nil, false, resp.ErrWrongType
	}
	return elements, false, nil
}

// sorted returns the elements in the order that is asked for.
func (t *Txn) sorted(elements []string, opts args.SortOptions) ([]string, error) {
	if opts.Unsorted {
		if opts.Desc {
			slices.Reverse(elements)
		}
		return elements, nil
	}
	list := make([]sortable, len(elements))
	wrong := false
	for i, s := range elements {
		list[i] = t.sortable(s, opts, &wrong)
	}
	if wrong {
		return nil, resp.ErrSortScore
	}
	order := byScore
	if opts.Alpha {
		order = byText
	}
	slices.SortStableFunc(list, func(a, b sortable) int {
		if opts.Desc {
			return order(b, a)
		}
		return order(a, b)
	})
	for i, s := range list {
		elements[i] = s.element
	}
	return elements, nil
}

// sortable finds what an element is compared by. An element for which BY finds no key counts as 0, and as a text it is
// before all others. It notes in wrong that something is no number.
func (t *Txn) sortable(element string, opts args.SortOptions, wrong *bool) sortable {
	s := sortable{element: element, text: element}
	if opts.ByPattern {
		text, ok := t.byPattern(opts.By, element)
		if !ok {
			s.text, s.absent = "", true
			return s
		}
		s.text = text
	}
	if !opts.Alpha {
		var ok bool
		if s.score, ok = args.SortScore(s.text); !ok {
			*wrong = true
		}
	}
	return s
}

func byScore(a, b sortable) int {
	return cmp.Or(cmp.Compare(a.score, b.score), strings.Compare(a.element, b.element))
}

func byText(a, b sortable) int {
	if a.absent || b.absent {
		return cmp.Compare(presence(a), presence(b))
	}
	return strings.Compare(a.text, b.text)
}

func presence(s sortable) int {
	if s.absent {
		return 0
	}
	return 1
}

// sortLimit applies LIMIT.
func sortLimit(elements []string, opts args.SortOptions) []string {
	n := int64(len(elements))
	from, to := min(max(opts.Offset, 0), n), n
	if opts.Count >= 0 {
		to = from + min(opts.Count, n-from)
	}
	return elements[from:to]
}

// sortGets are the values that GET asks for of each element, the elements themselves without GET.
func (t *Txn) sortGets(elements []string, opts args.SortOptions) ([]resp.Value, error) {
	if len(opts.Get) == 0 {
		values := make([]resp.Value, len(elements))
		for i, s := range elements {
			values[i] = resp.Str(s)
		}
		return values, nil
	}
	if len(elements)*len(opts.Get) > maxSortLookups {
		return nil, resp.ErrSortTooMuch
	}
	values := make([]resp.Value, 0, len(elements)*len(opts.Get))
	for _, element := range elements {
		for _, pattern := range opts.Get {
			v := resp.Value{}
			if s, ok := t.byPattern(pattern, element); ok {
				v = resp.Str(s)
			}
			values = append(values, v)
		}
	}
	return values, nil
}

// byPattern looks up the string of the key that a pattern names for an element: the first star stands for the element,
// and -> in front of the field of a hash. The pattern # is the element itself; one without a star finds nothing.
func (t *Txn) byPattern(pattern, element string) (string, bool) {
	t.written += lookupBytes
	if pattern == "#" {
		return element, true
	}
	before, after, star := strings.Cut(pattern, "*")
	if !star {
		return "", false
	}
	rest, field, ofHash := strings.Cut(after, "->")
	if ofHash && field != "" {
		after = rest
	}
	o := t.find(before + element + after)
	switch {
	case o == nil:
		return "", false
	case !ofHash || field == "":
		return o.str, o.coll == nil
	}
	h, ok := o.coll.(*hash)
	if !ok {
		return "", false
	}
	return h.get(field)
}

// sortStore makes a list of the result, in which what was not found is empty, and answers its length.
func (t *Txn) sortStore(key string, values []resp.Value) resp.Value {
	size, result := 0, &list{}
	for _, v := range values {
		if size += elementBytes + len(v.Str); size > maxSortStored {
			return resp.ErrSortTooMuch.Value()
		}
	}
	for _, v := range values {
		result.push(false, v.Str)
	}
	t.put(key, result)
	return resp.Int(int64(len(values)))
}
