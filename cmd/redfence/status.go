package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/redfence/redfence/raftstore"
)

func newStatusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Print what a running server says about itself",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return ask(cmd, func(ctx context.Context, c *redis.Client, cfg clientConfig) error {
				text, err := c.Info(ctx).Result()
				if err != nil {
					return err
				}
				return printStatus(cmd.OutOrStdout(), parseInfo(text), members(ctx, c), cfg.JSON)
			})
		},
	}
	addClientFlags(cmd.Flags())
	addConfigFlag(cmd.Flags())
	cmd.Flags().Bool("json", false, "print JSON: an object of fields for each section of INFO")
	return cmd
}

// members is what the server knows of its cluster; nil when it has none, as in quorum mode.
func members(ctx context.Context, c *redis.Client) *raftstore.Status {
	st, err := askStatus(ctx, c)
	if err != nil || !isCluster(st) {
		return nil
	}
	return &st
}

// printStatus prints the sections of INFO, and the members if there are any.
func printStatus(out io.Writer, sections []infoSection, st *raftstore.Status, asJSON bool) error {
	if asJSON {
		object := infoObject(sections)
		if st != nil {
			object["cluster_members"] = st
		}
		return encodeJSON(out, object)
	}
	if err := printTable(out, sections); err != nil || st == nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "members of cluster %s\n", st.Cluster); err != nil {
		return err
	}
	return printMembers(out, *st)
}

// infoSection is one section of an INFO reply, with its fields in the order that the server gave.
type infoSection struct {
	name   string
	fields [][2]string
}

// parseInfo reads the reply of INFO: "# Section" lines, each followed by "field:value" lines
// (https://redis.io/docs/latest/commands/info/).
func parseInfo(text string) []infoSection {
	var sections []infoSection
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if name, ok := strings.CutPrefix(line, "# "); ok {
			sections = append(sections, infoSection{name: strings.ToLower(name)})
			continue
		}
		field, value, ok := strings.Cut(line, ":")
		if !ok || len(sections) == 0 {
			continue
		}
		last := &sections[len(sections)-1]
		last.fields = append(last.fields, [2]string{field, value})
	}
	return sections
}

func printTable(out io.Writer, sections []infoSection) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, section := range sections {
		fmt.Fprintf(table, "%s\n", section.name)
		for _, f := range section.fields {
			fmt.Fprintf(table, "  %s\t%s\n", f[0], f[1])
		}
	}
	return table.Flush()
}

// infoObject is INFO as an object of fields for each section.
func infoObject(sections []infoSection) map[string]any {
	object := make(map[string]any, len(sections))
	for _, section := range sections {
		fields := make(map[string]string, len(section.fields))
		for _, f := range section.fields {
			fields[f[0]] = f[1]
		}
		object[section.name] = fields
	}
	return object
}

func encodeJSON(out io.Writer, v any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}
