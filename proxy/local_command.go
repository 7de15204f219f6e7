package proxy

import (
	"maps"
	"slices"
	"strings"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/glob"
	"github.com/redfence/redfence/commands/resp"
)

// The replies of COMMAND follow from the command table (https://redis.io/docs/latest/commands/command/).

func commandAll(s *session, _ *commands.Request) resp.Value { return describeAll(s.srv.table.Top()) }

func commandCount(s *session, _ *commands.Request) resp.Value {
	return resp.Int(int64(len(s.srv.table.Top())))
}

// commandInfo answers COMMAND INFO: null for a name that is not in the table.
func commandInfo(s *session, r *commands.Request) resp.Value {
	if len(r.Args) == 2 {
		return describeAll(s.srv.table.Top())
	}
	infos := make([]resp.Value, 0, len(r.Args)-2)
	for _, name := range r.Args[2:] {
		if spec := s.find(name); spec != nil {
			infos = append(infos, describe(spec))
		} else {
			infos = append(infos, resp.Value{})
		}
	}
	return resp.Arr(infos...)
}

// commandDocs answers COMMAND DOCS, leaving out names that are not in the table.
func commandDocs(s *session, r *commands.Request) resp.Value {
	specs := s.srv.table.Top()
	if len(r.Args) > 2 {
		specs = nil
		for _, name := range r.Args[2:] {
			if spec := s.find(name); spec != nil {
				specs = append(specs, spec)
			}
		}
	}
	return documentAll(specs)
}

// commandList answers COMMAND LIST.
func commandList(s *session, r *commands.Request) resp.Value {
	filter := r.Opts.(args.CommandFilter)
	var names []string
	for _, spec := range s.srv.table.All() {
		if listed(spec, filter) {
			names = append(names, spec.Name)
		}
	}
	return resp.Strs(names...)
}

func listed(spec *commands.Spec, f args.CommandFilter) bool {
	switch f.By {
	case "PATTERN":
		return glob.Match(strings.ToLower(f.Value), spec.Name)
	case "ACLCAT":
		return slices.Contains(categories(spec), "@"+strings.ToLower(f.Value))
	case "MODULE":
		return false
	}
	return !strings.Contains(spec.Name, "|")
}

// commandGetKeys answers COMMAND GETKEYS.
func commandGetKeys(s *session, r *commands.Request) resp.Value {
	line := r.Args[2:]
	spec, err := s.srv.table.Lookup(line)
	switch {
	case err != nil:
		return resp.ErrBadCommand.Value()
	case spec.Keys == commands.KeySpec{}:
		return resp.ErrNoKeys.Value()
	case !spec.Accepts(len(line)):
		return resp.ErrBadArgCount.Value()
	}
	return resp.Strs((&commands.Request{Spec: spec, Args: line}).Keys()...)
}

// find looks up a name as COMMAND writes it, "client|id" for a subcommand.
func (s *session) find(name string) *commands.Spec {
	spec, err := s.srv.table.Lookup(strings.SplitN(name, "|", 2))
	if err != nil {
		return nil
	}
	return spec
}

func describeAll(specs []*commands.Spec) resp.Value {
	all := make([]resp.Value, len(specs))
	for i, spec := range specs {
		all[i] = describe(spec)
	}
	return resp.Arr(all...)
}

// describe is the ten-element form of COMMAND INFO.
func describe(spec *commands.Spec) resp.Value {
	return resp.Arr(
		resp.Str(spec.Name),
		resp.Int(int64(spec.Arity)),
		statuses(flagNames(spec.Flags)),
		resp.Int(int64(spec.Keys.First)), resp.Int(int64(spec.Keys.Last)), resp.Int(int64(spec.Keys.Step)),
		statuses(categories(spec)),
		resp.SetOf(), // tips
		keySpecs(spec),
		describeAll(subcommands(spec)),
	)
}

func subcommands(spec *commands.Spec) []*commands.Spec {
	return slices.SortedFunc(maps.Values(spec.Sub), func(a, b *commands.Spec) int { return strings.Compare(a.Name, b.Name) })
}

func statuses(words []string) resp.Value {
	set := make([]resp.Value, len(words))
	for i, word := range words {
		set[i] = resp.Status(word)
	}
	return resp.SetOf(set...)
}

// namedFlags are the flags that COMMAND INFO shows, in its order.
var namedFlags = [...]struct {
	flag commands.Flags
	name string
}{
	{commands.Write, "write"},
	{commands.ReadOnly, "readonly"},
	{commands.DenyOOM, "denyoom"},
	{commands.Admin, "admin"},
	{commands.PubSub, "pubsub"},
	{commands.NoScript, "noscript"},
	{commands.Blocking, "blocking"},
	{commands.Loading, "loading"},
	{commands.Stale, "stale"},
	{commands.SkipMonitor, "skip_monitor"},
	{commands.SkipSlowlog, "skip_slowlog"},
	{commands.Fast, "fast"},
	{commands.NoAuth, "no_auth"},
	{commands.NoMandatoryKeys, "no_mandatory_keys"},
	{commands.NoMulti, "no_multi"},
	{commands.MovableKeys, "movablekeys"},
	{commands.AllowBusy, "allow_busy"},
}

func flagNames(f commands.Flags) []string {
	var names []string
	for _, named := range namedFlags {
		if f.Has(named.flag) {
			names = append(names, named.name)
		}
	}
	return names
}

// categories are the ACL categories of a command, as far as they follow from its row
// (https://redis.io/docs/latest/operate/oss_and_stack/management/security/acl/).
func categories(spec *commands.Spec) []string {
	var names []string
	for _, c := range []struct {
		holds bool
		name  string
	}{
		{spec.Group == commands.Generic && spec.Keys != commands.KeySpec{}, "@keyspace"},
		{spec.Flags.Has(commands.ReadOnly), "@read"},
		{spec.Flags.Has(commands.Write), "@write"},
		{spec.Group == commands.HashGroup, "@hash"},
		{spec.Group == commands.ListGroup, "@list"},
		{spec.Group == commands.SetGroup, "@set"},
		{spec.Group == commands.ZSetGroup, "@sortedset"},
		{spec.Group == commands.StringsGrp, "@string"},
		{spec.Flags.Has(commands.PubSub), "@pubsub"},
		{spec.Flags.Has(commands.Admin), "@admin"},
		{spec.Flags.Has(commands.Fast), "@fast"},
		{!spec.Flags.Has(commands.Fast), "@slow"},
		{spec.Flags.Has(commands.Blocking), "@blocking"},
		{spec.Flags.Has(commands.Admin), "@dangerous"},
		{spec.Group == commands.Connection, "@connection"},
		{spec.Group == commands.Scripting, "@scripting"},
		{spec.Group == commands.Transactions, "@transaction"},
	} {
		if c.holds {
			names = append(names, c.name)
		}
	}
	return names
}

// keySpecs is the key specification of Redis 7 (https://redis.io/docs/latest/develop/reference/key-specs/).
func keySpecs(spec *commands.Spec) resp.Value {
	k := spec.Keys
	if k == (commands.KeySpec{}) {
		return resp.SetOf()
	}
	access := "RW"
	if spec.Flags.Has(commands.ReadOnly) {
		access = "RO"
	}
	var specs []resp.Value
	if k.First > 0 {
		specs = append(specs, keySpec(access, k.First, "range", resp.MapOf(resp.Str("lastkey"), resp.Int(int64(relative(k))),
			resp.Str("keystep"), resp.Int(int64(k.Step)), resp.Str("limit"), resp.Int(0))))
	}
	if k.Num > 0 {
		specs = append(specs, keySpec(access, k.Num, "keynum", resp.MapOf(resp.Str("keynumidx"), resp.Int(0),
			resp.Str("firstkey"), resp.Int(1), resp.Str("keystep"), resp.Int(1))))
	}
	return resp.SetOf(specs...)
}

// keySpec describes keys that are found from an argument on, in the way that kind and find say.
func keySpec(access string, begin int, kind string, find resp.Value) resp.Value {
	return resp.MapOf(
		resp.Str("flags"), statuses([]string{access}),
		resp.Str("begin_search"), resp.MapOf(resp.Str("type"), resp.Str("index"),
			resp.Str("spec"), resp.MapOf(resp.Str("index"), resp.Int(int64(begin)))),
		resp.Str("find_keys"), resp.MapOf(resp.Str("type"), resp.Str(kind), resp.Str("spec"), find))
}

// relative is the last key as a key specification counts it: from the first key, or from the end when negative.
func relative(k commands.KeySpec) int {
	if k.Last < 0 {
		return k.Last
	}
	return k.Last - k.First
}

func documentAll(specs []*commands.Spec) resp.Value {
	var pairs []resp.Value
	for _, spec := range specs {
		pairs = append(pairs, resp.Str(spec.Name), document(spec))
	}
	return resp.MapOf(pairs...)
}

func document(spec *commands.Spec) resp.Value {
	pairs := []resp.Value{
		resp.Str("summary"), resp.Str(spec.Summary),
		resp.Str("since"), resp.Str(spec.Since),
		resp.Str("group"), resp.Str(string(spec.Group)),
	}
	if spec.Sub != nil {
		pairs = append(pairs, resp.Str("subcommands"), documentAll(subcommands(spec)))
	}
	return resp.MapOf(pairs...)
}
