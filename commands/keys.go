package commands

import "strconv"

// Keys returns the keys of a request, in order. A numkeys argument that is not a number yields none: the command's
// own parser has refused it already.
func (r *Request) Keys() []string { return r.Spec.Keys.of(r.Args) }

func (k KeySpec) of(args []string) []string {
	var keys []string
	if k.First > 0 {
		keys = k.placed(args)
	}
	if k.Num > 0 {
		keys = append(keys, k.counted(args)...)
	}
	return keys
}

// placed are the keys from First to Last.
func (k KeySpec) placed(args []string) []string {
	last := k.Last
	if last < 0 {
		last += len(args)
	}
	var keys []string
	for i := k.First; i <= last && i < len(args); i += k.Step {
		keys = append(keys, args[i])
	}
	return keys
}

// counted are the keys behind the argument that counts them.
func (k KeySpec) counted(args []string) []string {
	if k.Num >= len(args) {
		return nil
	}
	n, err := strconv.Atoi(args[k.Num])
	if err != nil || n < 0 || n > len(args)-k.Num-1 {
		return nil
	}
	return args[k.Num+1 : k.Num+1+n]
}
