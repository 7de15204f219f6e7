package matrix

import (
	"fmt"
	"slices"
	"strings"
)

// column is a backend and a way.
type column struct{ title, backend, way string }

var columns = []column{
	{"one node", "raft", Direct},
	{"three nodes", "raft3", Direct},
	{"three nodes, leader killed", "raft3-kills", Direct},
	{"quorum of 3", "quorum3", Direct},
	{"quorum of 5", "quorum5", Direct},
	{"Sentinels, raft", "raft3", Sentinels},
	{"Sentinels, quorum", "quorum3", Sentinels},
}

const preface = `# Clients

<!-- Written by make docs from docs/results/clients.json; the rows are in integration/matrix. -->

What real client libraries have done with redfence, and the line of their configuration that changes. The programs are in
` + "`integration/clients`" + `; the long run writes down what came of them. A number counts the cases that passed, once for each
protocol, library below and way to wait in which a case ran. *Failover*: two users that know nothing but Sentinels share a lock,
and the lock outlives the master that those name. *Not run*: no run of this version is on record. A dash: the client knows no Sentinels.
*Played*, behind a version: no registry within reach has the library, so the tests send what it sends, and compare the replies.

The first columns of results are raft mode and quorum mode as clients see them that connect to redfence itself. In the last two they
are given the [Sentinel addresses](sentinel.md) of a cluster of three nodes, and of two proxies over three Redis servers.
`

// Render is the document; versions are those of the rows, by ID.
func Render(results []Result, versions map[string]string) string {
	var doc strings.Builder
	doc.WriteString(preface)
	writeMatrix(&doc, results, versions)
	doc.WriteString("\n## Through Sentinels\n\n| client | configuration |\n|---|---|\n")
	for _, line := range sentinelLines() {
		doc.WriteString(line)
	}
	doc.WriteString("\n## Cases\n\n| client | cases | day and commit |\n|---|---|---|\n")
	for _, row := range Rows() {
		if names, runs := row.cases(results, versions[row.ID]); len(names) > 0 {
			fmt.Fprintf(&doc, "| %s %s | %s | %s |\n",
				row.Client, versions[row.ID], strings.Join(names, ", "), strings.Join(runs, ", "))
		}
	}
	return doc.String()
}

func writeMatrix(doc *strings.Builder, results []Result, versions map[string]string) {
	doc.WriteString("\n| client | version |")
	for _, c := range columns {
		doc.WriteString(" " + c.title + " |")
	}
	doc.WriteString(" what changes |\n|---|---|" + strings.Repeat("---|", len(columns)+1) + "\n")
	for _, row := range Rows() {
		fmt.Fprintf(doc, "| %s | %s |", row.Client, versions[row.ID])
		for _, c := range columns {
			fmt.Fprintf(doc, " %s |", row.cell(c, results, versions[row.ID]))
		}
		fmt.Fprintf(doc, " `%s` |\n", row.Direct)
	}
}

// cell is what came of a row in a column.
func (r Row) cell(c column, results []Result, version string) string {
	if c.way == Sentinels && r.Sentinels == "" {
		return "-"
	}
	i := slices.IndexFunc(results, func(have Result) bool { return have.Run == Run{r.ID, version, c.backend, c.way} })
	switch {
	case i < 0:
		return "not run"
	case len(results[i].Failed) > 0:
		return "failed: " + strings.Join(results[i].Failed, ", ")
	}
	return results[i].summary()
}

// summary counts cases. The test of a failover is one case, named like the backend.
func (r Result) summary() string {
	cases := slices.DeleteFunc(slices.Clone(r.Passed), func(name string) bool { return name == r.Backend })
	switch {
	case len(cases) == len(r.Passed):
		return fmt.Sprint(len(cases))
	case len(cases) == 0:
		return "failover"
	}
	return fmt.Sprintf("failover, %d", len(cases))
}

// cases are the names of what a client of a version has passed when it was connected directly, and when that was.
func (r Row) cases(results []Result, version string) (names, runs []string) {
	for _, have := range results {
		if have.Client == r.ID && have.Version == version && have.Way == Direct {
			names = append(names, have.Passed...)
			runs = append(runs, have.Date+" "+have.Commit)
		}
	}
	slices.Sort(names)
	slices.Sort(runs)
	return slices.Compact(names), slices.Compact(runs)
}

// sentinelLines are the lines of configuration that name Sentinels, each with all its clients.
func sentinelLines() (lines []string) {
	clients := map[string][]string{}
	var order []string
	for _, row := range Rows() {
		if row.Sentinels == "" {
			continue
		}
		if clients[row.Sentinels] == nil {
			order = append(order, row.Sentinels)
		}
		if !slices.Contains(clients[row.Sentinels], row.Client) {
			clients[row.Sentinels] = append(clients[row.Sentinels], row.Client)
		}
	}
	for _, line := range order {
		lines = append(lines, fmt.Sprintf("| %s | `%s` |\n", strings.Join(clients[line], ", "), line))
	}
	return lines
}
