package commands

import "strings"

// Help are the lines of a container's HELP: what Redis prints, with the subcommands that are served here.
func Help(container *Spec) []string {
	name := strings.ToUpper(container.Name)
	lines := []string{name + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"}
	for _, sub := range sortedSubs(container) {
		if word := strings.ToUpper(strings.TrimPrefix(sub.Name, container.Name+"|")); word != "HELP" {
			lines = append(lines, word, "    "+sub.Summary)
		}
	}
	return append(lines, "HELP", "    Prints this help.")
}

// helpRow is the row of HELP, which every container has.
func helpRow() *Spec {
	return &Spec{Name: "help", Arity: 2, Flags: Loading | Stale, Since: "5.0.0", Summary: "Lists the subcommands."}
}
