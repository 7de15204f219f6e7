package commands

import (
	"strconv"

	"github.com/redfence/redfence/commands/args"
)

// Keys returns the keys of a request, in order. A numkeys argument that is not a number yields none: the command's
// own parser has refused it already. They may be a part of Args, so they must not be changed.
func (r *Request) Keys() []string { return r.Spec.Keys.Of(r.Args) }

// Of returns the keys of a command line that has been looked up only, as far as it has them.
func (k KeySpec) Of(line []string) []string {
	var keys []string
	if k.First > 0 {
		keys = k.placed(line)
	}
	if k.Num > 0 {
		keys = append(keys, k.counted(line)...)
	}
	if k.Store {
		keys = append(keys, sortTarget(line)...)
	}
	return keys
}

// placed are the keys from First to Last.
func (k KeySpec) placed(line []string) []string {
	last := k.Last
	if last < 0 {
		last += len(line)
	}
	if end := min(last+1, len(line)); k.Step == 1 && k.First < end {
		return line[k.First:end:end] // nearly always, and costs nothing
	}
	var keys []string
	for i := k.First; i <= last && i < len(line); i += k.Step {
		keys = append(keys, line[i])
	}
	return keys
}

// counted are the keys behind the argument that counts them.
func (k KeySpec) counted(line []string) []string {
	if k.Num >= len(line) {
		return nil
	}
	n, err := strconv.Atoi(line[k.Num])
	if err != nil || n < 0 || n > len(line)-k.Num-1 {
		return nil
	}
	return line[k.Num+1 : k.Num+1+n]
}

// sortTarget is the key behind the last option STORE of SORT. What stands behind other options is no option.
func sortTarget(line []string) (key []string) {
	for i := 2; i < len(line); i++ {
		switch {
		case args.Is(line[i], "LIMIT"):
			i += 2
		case args.Is(line[i], "GET"), args.Is(line[i], "BY"):
			i++
		case args.Is(line[i], "STORE") && i+1 < len(line):
			i++
			key = line[i : i+1]
		}
	}
	return key
}
