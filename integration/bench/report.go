package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// result is all that a run found out. servers holds the one to compare with first, redfence second, and maybe others.
type result struct {
	options options
	host    host
	servers []*server
	machine machine
	rows    []row
}

// markdown is the result as a file for docs/results.
func (r *result) markdown() string {
	title := "# Lock operations: redfence and " + r.servers[0].name + " side by side, " + r.host.date[:len(time.DateOnly)] + "\n\n"
	return title + r.text()
}

// text is the result to read in a terminal.
func (r *result) text() string {
	var b strings.Builder
	b.WriteString(r.circumstances())
	b.WriteString("\nOperations per second: medians of the rounds; the ratio is the median of the rounds' ratios, with the lowest and the\n" +
		"highest. CPU is the server's processor time per operation, in µs.\n\n")
	b.WriteString(layout(r.rates()))
	b.WriteString("\nLatencies in µs over all rounds.\n\n")
	b.WriteString(layout(r.latencies()))
	b.WriteByte('\n')
	for i, row := range r.rows {
		if i == 0 || r.rows[i-1].name != row.name {
			fmt.Fprintf(&b, "- %s: %s%s.\n", row.name, row.about, r.linkTook(row))
		}
	}
	return b.String()
}

// circumstances lists what must be known to compare with another run.
func (r *result) circumstances() string {
	h, m := r.host, r.machine
	lines := [][2]string{
		{"date", h.date},
		{"commit", h.commit},
		{"kernel", h.kernel},
		{"go", h.golang},
		{"machine", fmt.Sprintf("%d cores, %s", h.cores, h.processor)},
		{"disk", fmt.Sprintf("%s; write of 128 bytes and fsync: p50 %s µs, p99 %s µs", h.fileSystem, micros(h.sync.p50), micros(h.sync.p99))},
		{"rounds", fmt.Sprintf("%d of %v per server and setting", r.options.rounds, r.options.duration)},
		{"load", fmt.Sprintf("%.2f cores busy with other programs, %.2f stolen by the hypervisor, on average; load average %s", m.others(), m.steal(), m.load)},
	}
	for _, s := range r.servers {
		lines = append(lines, [2]string{s.name, said(context.Background(), s.version...) + "; " + s.about})
	}
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "- %s: %s\n", l[0], l[1])
	}
	return b.String()
}

// rates is a table of each server's operations per second, the ratios of all to the first, and what an operation costs.
func (r *result) rates() [][]string {
	var names, ratios, costs []string
	for i, s := range r.servers {
		names, costs = append(names, s.name), append(costs, "CPU "+s.name)
		switch i {
		case 0: // what the others are compared with
		case 1:
			ratios = append(ratios, "ratio", "lowest to highest")
		default:
			ratios = append(ratios, "ratio "+s.name, "lowest to highest")
		}
	}
	table := [][]string{slices.Concat([]string{"setting", "clients"}, names, ratios, costs)}
	for _, row := range r.rows {
		table = append(table, row.rates())
	}
	return table
}

// rates is the row as a line of the table.
func (r row) rates() []string {
	var rates, ratios, costs []string
	for i, s := range r.sides {
		rates, costs = append(rates, count(median(s.rates))), append(costs, tenths(median(s.costs)))
		if i > 0 {
			all := paired(s.rates, r.sides[0].rates)
			ratios = append(ratios, fmt.Sprintf("%.2f", median(all)), fmt.Sprintf("%.2f to %.2f", slices.Min(all), slices.Max(all)))
		}
	}
	return slices.Concat([]string{r.name, strconv.Itoa(r.clients)}, rates, ratios, costs)
}

func (r *result) latencies() [][]string {
	head := []string{"setting", "clients", "operation"}
	for _, q := range []string{"p50 ", "p99 "} {
		for _, s := range r.servers {
			head = append(head, q+s.name)
		}
	}
	table := [][]string{head}
	for _, row := range r.rows {
		for i, op := range row.ops {
			line := []string{row.name, strconv.Itoa(row.clients), op.name}
			for _, q := range []float64{0.5, 0.99} {
				for _, s := range row.sides {
					line = append(line, micros(s.seen[i].quantile(q)))
				}
			}
			table = append(table, line)
		}
	}
	return table
}

// paired divides round by round: what disturbed a round disturbed both sides of it.
func paired(a, b []float64) []float64 {
	ratios := make([]float64, len(a))
	for i := range a {
		ratios[i] = a[i] / b[i]
	}
	return ratios
}

func median[T float64 | time.Duration](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// layout writes a table in markdown with aligned columns. The first line is the head; columns of numbers are to the
// right.
func layout(table [][]string) string {
	widths := make([]int, len(table[0]))
	for _, line := range table {
		for i, cell := range line {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	var b strings.Builder
	for n, line := range table {
		for i, cell := range line {
			pad := strings.Repeat(" ", widths[i]-len([]rune(cell)))
			if isNumber(table[len(table)-1][i]) {
				fmt.Fprintf(&b, "| %s%s ", pad, cell)
			} else {
				fmt.Fprintf(&b, "| %s%s ", cell, pad)
			}
		}
		b.WriteString("|\n")
		if n == 0 {
			b.WriteString(rule(widths, table[len(table)-1]))
		}
	}
	return b.String()
}

// rule is the line below the head.
func rule(widths []int, sample []string) string {
	var b strings.Builder
	for i, w := range widths {
		end := "-"
		if isNumber(sample[i]) {
			end = ":"
		}
		b.WriteString("|" + strings.Repeat("-", w+1) + end)
	}
	return b.String() + "|\n"
}

func isNumber(cell string) bool { return cell != "" && cell[0] >= '0' && cell[0] <= '9' }

// count writes a number with a comma before every third digit.
func count(f float64) string {
	s := strconv.FormatFloat(f, 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func micros(d time.Duration) string { return count(float64(d) / float64(time.Microsecond)) }

func tenths(d time.Duration) string {
	return fmt.Sprintf("%.1f", float64(d)/float64(time.Microsecond))
}
