package commands

import (
	"github.com/redfence/redfence/commands/args"
)

// Key positions of commands that wait.
var (
	keysBeforeLast = KeySpec{First: 1, Last: -2, Step: 1}
	keysAfterTime  = KeySpec{Num: 2}
)

// blockingRows are the rows of the commands that wait for elements of lists and sorted sets. Front ends make them
// wait; a backend runs them like their relatives that do not, as Redis does in MULTI and in scripts.
func blockingRows() []*Spec {
	const flags = Write | Blocking | Conditional
	pop := func(name string, more Flags, since, summary string) *Spec {
		return &Spec{
			Name: name, Arity: -3, Flags: flags | NoScript | more, Keys: keysBeforeLast, Raft: Change,
			Parse: parse(args.BlockingPop), Since: since, Summary: summary,
		}
	}
	lists := inGroup(ListGroup, []*Spec{
		pop("blpop", 0, "2.0.0", "Takes the first element of a list, or waits for one."),
		pop("brpop", 0, "2.0.0", "Takes the last element of a list, or waits for one."),
		{
			Name: "blmove", Arity: 6, Flags: flags | NoScript | DenyOOM, Keys: twoKeys, Raft: Change, Parse: parse(args.BLMove),
			Since: "6.2.0", Summary: "Moves an element from an end of a list to an end of another, or waits for one.",
		},
		{
			Name: "brpoplpush", Arity: 4, Flags: flags | NoScript | DenyOOM, Keys: twoKeys, Raft: Change,
			Parse: parse(args.BRPopLPush), Since: "2.2.0",
			Summary: "Moves the last element of a list to the head of another, or waits for one.",
		},
		{
			Name: "blmpop", Arity: -5, Flags: flags | MovableKeys, Keys: keysAfterTime, Raft: Change,
			Parse: parse(args.BlockingMultiPop("LEFT", "RIGHT")), Since: "7.0.0",
			Summary: "Takes elements from the first of several lists that has any, or waits for some.",
		},
	})
	zsets := inGroup(ZSetGroup, []*Spec{
		pop("bzpopmin", Fast, "5.0.0", "Takes the member with the lowest score, or waits for one."),
		pop("bzpopmax", Fast, "5.0.0", "Takes the member with the highest score, or waits for one."),
		{
			Name: "bzmpop", Arity: -5, Flags: flags | MovableKeys, Keys: keysAfterTime, Raft: Change,
			Parse: parse(args.BlockingMultiPop("MIN", "MAX")), Since: "7.0.0",
			Summary: "Takes members from the first of several sorted sets that has any, or waits for some.",
		},
	})
	return append(lists, zsets...)
}

// Waits returns what a request waits for, and false for one that does not wait.
func (r *Request) Waits() (args.Blocking, bool) {
	if !r.Spec.Flags.Has(Blocking) {
		return args.Blocking{}, false
	}
	b, ok := r.Opts.(args.Blocking)
	return b, ok
}

// Only returns the request that looks at one of the keys that a waiting request waits for.
func (r *Request) Only(key string) *Request {
	b, _ := r.Waits()
	if len(b.Keys) <= 1 {
		return r
	}
	line := []string{r.Args[0], key, "0"}
	if r.Spec.Keys == keysAfterTime {
		line = append([]string{r.Args[0], "0", "1", key}, r.Args[3+len(b.Keys):]...)
	}
	b.Keys = []string{key}
	if b.Pop.Keys != nil {
		b.Pop.Keys = b.Keys
	}
	return &Request{Spec: r.Spec, Args: line, Opts: b, DB: r.DB}
}
