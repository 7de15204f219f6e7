package keyspace

import (
	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
)

// maxLCSCells bounds the table of LCS. Redis bounds it by proto-max-bulk-len; 64 MiB have room for as many lengths.
const maxLCSCells = 16 << 20

// lcs implements LCS (https://redis.io/docs/latest/commands/lcs/).
func lcs(t *Txn, r *commands.Request) resp.Value {
	opts, _ := r.Opts.(args.LCSOptions)
	a, _, errA := t.text(r.Args[1])
	b, _, errB := t.text(r.Args[2])
	if errA != nil || errB != nil {
		return resp.ErrLCSType.Value()
	}
	cells := int64(len(a)+1) * int64(len(b)+1)
	if cells > maxLCSCells {
		return resp.ErrLCSTooLong.Value()
	}
	t.written += 4 * cells // it counts against the memory that a script may use
	lengths := lcsLengths(a, b)
	n := int64(lengths.at(len(a), len(b)))
	if opts.Len {
		return resp.Int(n)
	}
	common, matches := lengths.walk(a, b, opts)
	if opts.Idx {
		return resp.MapOf(resp.Str("matches"), resp.Arr(matches...), resp.Str("len"), resp.Int(n))
	}
	return resp.Str(common)
}

// lcsTable holds at (i, j) the length of the longest common subsequence of the first i bytes of one string and the first
// j of the other.
type lcsTable struct {
	cells []uint32
	width int
}

func (l lcsTable) at(i, j int) uint32 { return l.cells[i*l.width+j] }

func lcsLengths(a, b string) lcsTable {
	l := lcsTable{make([]uint32, (len(a)+1)*(len(b)+1)), len(b) + 1}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			if a[i-1] == b[j-1] {
				l.cells[i*l.width+j] = l.at(i-1, j-1) + 1
			} else {
				l.cells[i*l.width+j] = max(l.at(i-1, j), l.at(i, j-1))
			}
		}
	}
	return l
}

// stretch is a part that the two strings have in common: positions of its first and last byte in each.
type stretch struct {
	firstA, lastA, firstB, lastB int
	open                         bool
}

func (s stretch) value(opts args.LCSOptions) (resp.Value, bool) {
	length := int64(s.lastA - s.firstA + 1)
	pair := func(first, last int) resp.Value { return resp.Arr(resp.Int(int64(first)), resp.Int(int64(last))) }
	match := []resp.Value{pair(s.firstA, s.lastA), pair(s.firstB, s.lastB)}
	if opts.WithMatchLen {
		match = append(match, resp.Int(length))
	}
	return resp.Arr(match...), length >= opts.MinMatchLen
}

// walk follows the table from its end to its beginning, and returns the subsequence and the stretches that it is made
// of, the last one first.
func (l lcsTable) walk(a, b string, opts args.LCSOptions) (string, []resp.Value) {
	common := make([]byte, l.at(len(a), len(b)))
	var matches []resp.Value
	var s stretch
	emit := func() {
		if v, long := s.value(opts); s.open && long {
			matches = append(matches, v)
		}
		s = stretch{}
	}
	for i, j, n := len(a), len(b), len(common); i > 0 && j > 0; {
		switch {
		case a[i-1] == b[j-1]:
			i, j, n = i-1, j-1, n-1
			common[n] = a[i]
			if !s.open {
				s = stretch{lastA: i, lastB: j, open: true}
			}
			s.firstA, s.firstB = i, j
			continue
		case l.at(i-1, j) > l.at(i, j-1):
			i--
		default:
			j--
		}
		emit()
	}
	emit()
	return string(common), matches
}
