package commands

import "github.com/redfence/redfence/commands/args"

// subjectKey is the key of a subcommand such as OBJECT ENCODING.
var subjectKey = KeySpec{First: 2, Last: 2, Step: 1}

// keyRows are the rows of redis.io's group "generic", and those of its group "server" that work on the keys.
func keyRows() []*Spec {
	var rows []*Spec
	for _, part := range [][]*Spec{keyReads(), keyWrites(), ttlRows()} {
		rows = append(rows, inGroup(Generic, part)...)
	}
	return append(append(rows, objectRow()), datasetRows()...)
}

func keyReads() []*Spec {
	return []*Spec{
		{
			Name: "exists", Arity: -2, Flags: ReadOnly | Fast, Keys: allKeys, Raft: Read, Since: "1.0.0",
			Summary: "Counts those of the keys that are present.",
		},
		{
			Name: "touch", Arity: -2, Flags: ReadOnly | Fast, Keys: allKeys, Raft: Read, Since: "3.2.1",
			Summary: "Counts those of the keys that are present.",
		},
		{
			Name: "type", Arity: 2, Flags: ReadOnly | Fast, Keys: oneKey, Raft: Read, Since: "1.0.0",
			Summary: "Returns the type of a key.",
		},
		{
			Name: "keys", Arity: 2, Flags: ReadOnly, Raft: Read, Since: "1.0.0",
			Summary: "Returns the keys that match a pattern.",
		},
		{
			Name: "scan", Arity: -2, Flags: ReadOnly, Raft: Read, Parse: parse(args.Scan), Since: "2.8.0",
			Summary: "Walks over the keys.",
		},
		{
			Name: "randomkey", Arity: 1, Flags: ReadOnly, Raft: Read, Since: "1.0.0",
			Summary: "Returns a key at random.",
		},
		{
			Name: "sort_ro", Arity: -2, Flags: ReadOnly | MovableKeys, Keys: oneKey, Raft: Read, Parse: parse(args.SortRO),
			Since: "7.0.0", Summary: "Returns the sorted elements of a list, set or sorted set.",
		},
	}
}

func keyWrites() []*Spec {
	return []*Spec{
		{
			Name: "del", Arity: -2, Flags: Write | Conditional, Keys: allKeys, Raft: Change, Since: "1.0.0",
			Summary: "Deletes keys.",
		},
		{
			Name: "unlink", Arity: -2, Flags: Write | Fast | Conditional, Keys: allKeys, Raft: Change, Since: "4.0.0",
			Summary: "Deletes keys.",
		},
		{
			Name: "rename", Arity: 3, Flags: Write | Conditional, Keys: twoKeys, Raft: Change, Since: "1.0.0",
			Summary: "Gives a key another name, over any key that has it.",
		},
		{
			Name: "renamenx", Arity: 3, Flags: Write | Fast | Conditional, Keys: twoKeys, Raft: Change, Since: "1.0.0",
			Summary: "Gives a key another name that is free.",
		},
		{
			Name: "copy", Arity: -3, Flags: Write | DenyOOM | Conditional, Keys: twoKeys, Raft: Change, Parse: parse(args.Copy),
			Since: "6.2.0", Summary: "Copies a key.",
		},
		{
			Name: "move", Arity: 3, Flags: Write | Fast | Conditional, Keys: oneKey, Raft: Change, Parse: parse(args.Move),
			Since: "1.0.0", Summary: "Moves a key to another database.",
		},
		{
			Name: "sort", Arity: -2, Flags: Write | DenyOOM | MovableKeys | Conditional, Keys: sortKeys, Raft: Change,
			Parse: parse(args.Sort), Since: "1.0.0", Summary: "Returns or stores the sorted elements of a list, set or sorted set.",
		},
	}
}

// objectRow is OBJECT. A replicated store keeps no note of reads, so the idle time is always 0.
func objectRow() *Spec {
	on := func(name, summary string) *Spec {
		return &Spec{Name: name, Arity: 3, Flags: ReadOnly, Keys: subjectKey, Raft: Read, Since: "2.2.3", Summary: summary}
	}
	object := container("object", Generic, "Tells about the inside of a key.",
		on("encoding", "Returns how Redis would store the value of a key."),
		on("refcount", "Returns the number of references to the value of a key."),
		on("idletime", "Returns the seconds since the last use of a key, as far as it is known."),
		on("freq", "Returns how often a key is used, which is not counted here."),
		&Spec{
			Name: "help", Arity: 2, Flags: Loading | Stale, Raft: Read, Since: "6.2.0",
			Summary: "Lists the subcommands.",
		},
	)
	object.Since = "2.2.3"
	return object
}

// ObjectHelp are the lines of OBJECT HELP.
const ObjectHelp = `OBJECT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:
ENCODING <key>
    Return the kind of internal representation used in order to store the value
    associated with a <key>.
FREQ <key>
    Return the access frequency index of the <key>. The returned integer is
    proportional to the logarithm of the recent access frequency of the key.
IDLETIME <key>
    Return the idle time of the <key>, that is the approximated number of
    seconds elapsed since the last access to the key.
REFCOUNT <key>
    Return the number of references of the value associated with the specified
    <key>.
HELP
    Prints this help.`
