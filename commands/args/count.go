package args

import "github.com/redfence/redfence/commands/resp"

// atLeast parses an integer that is not below low; anything else gives failure.
func atLeast(low int64, s string, failure resp.Failure) (int64, error) {
	n, err := Int(s)
	if err != nil || n < low {
		return 0, failure
	}
	return n, nil
}

// Size is an optional count of elements.
type Size struct {
	One   bool // none was given: the reply is one element, not an array
	Count int64
}

func size(line []string) (Size, error) {
	if len(line) == 2 {
		return Size{One: true, Count: 1}, nil
	}
	n, err := atLeast(0, line[2], resp.ErrNotPositive)
	return Size{Count: n}, err
}

// ListPopParser returns the parser of LPOP and RPOP: name key [count].
func ListPopParser(command string) func(line []string) (Size, error) {
	return func(line []string) (Size, error) {
		if len(line) > 3 {
			return Size{}, resp.WrongArity(command)
		}
		return size(line)
	}
}

// Pop parses SPOP, ZPOPMIN and ZPOPMAX: name key [count].
func Pop(line []string) (Size, error) {
	if len(line) > 3 {
		return Size{}, resp.ErrSyntax
	}
	return size(line)
}

// MultiPop are the options of LMPOP and ZMPOP, which pop from the first of several keys that has elements.
type MultiPop struct {
	Keys  []string
	First bool // LEFT or MIN, else RIGHT or MAX
	Count int64
}

// MultiPopParser returns the parser of a command whose line[at] is the number of keys; first and last are the words
// that choose an end: ... numkeys key [key ...] first|last [COUNT n].
func MultiPopParser(at int, first, last string) func(line []string) (MultiPop, error) {
	return func(line []string) (o MultiPop, err error) {
		n, err := atLeast(1, line[at], resp.ErrNumKeysZero)
		if err != nil {
			return o, err
		}
		if n >= int64(len(line)-at-1) {
			return o, resp.ErrSyntax
		}
		r := From(line, at+1+int(n))
		end, _ := r.Word()
		o.Keys, o.First = line[at+1:at+1+int(n)], Is(end, first)
		if !o.First && !Is(end, last) {
			return o, resp.ErrSyntax
		}
		o.Count, err = popCount(r)
		return o, err
	}
}

func popCount(r *Reader) (int64, error) {
	if !r.More() {
		return 1, nil
	}
	word, _ := r.Word()
	if !Is(word, "COUNT") || !r.More() {
		return 0, resp.ErrSyntax
	}
	text, _ := r.Word()
	n, err := atLeast(1, text, resp.ErrCountZero)
	if err == nil && r.More() {
		err = resp.ErrSyntax
	}
	return n, err
}

// CardinalityOptions are the options of SINTERCARD.
type CardinalityOptions struct {
	Keys  []string
	Limit int64 // counting ends there; 0 means never
}

// SInterCard parses SINTERCARD numkeys key [key ...] [LIMIT n].
func SInterCard(line []string) (o CardinalityOptions, err error) {
	n, err := atLeast(1, line[1], resp.ErrNumKeysZero)
	if err != nil {
		return o, err
	}
	if n > int64(len(line)-2) {
		return o, resp.ErrNumKeys
	}
	o.Keys = line[2 : 2+n]
	for r := From(line, 2+int(n)); r.More(); {
		word, _ := r.Word()
		if !Is(word, "LIMIT") || !r.More() {
			return o, resp.ErrSyntax
		}
		text, _ := r.Word()
		if o.Limit, err = atLeast(0, text, resp.ErrNegativeLimit); err != nil {
			return o, err
		}
	}
	return o, nil
}
