package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/redfence/redfence/raftstore"
)

func newMemberCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "member",
		Short: "List and change the members of a cluster, through any of them",
	}
	force := newChangeCommand("remove MEMBER", "Remove a member, by its id, name or address", cobra.ExactArgs(1))
	force.Flags().Bool("force", false, "also when the remaining voters that run are no majority")
	cmd.AddCommand(
		newMemberListCommand(),
		newChangeCommand("add HOST:PORT", "Add an empty node that waits on the cluster port HOST:PORT", cobra.ExactArgs(1)),
		force,
		newChangeCommand("transfer [MEMBER]", "Hand the leadership over, to MEMBER or to the one most up to date", cobra.MaximumNArgs(1)),
		newRecoverCommand(),
	)
	return cmd
}

// newChangeCommand is a subcommand that has the server do what its name says.
func newChangeCommand(use, short string, args cobra.PositionalArgs) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: args,
		RunE: func(cmd *cobra.Command, args []string) error {
			line := []any{"REDFENCE", "MEMBER", cmd.Name()}
			for _, arg := range args {
				line = append(line, arg)
			}
			if force, err := cmd.Flags().GetBool("force"); err == nil && force {
				line = append(line, "FORCE")
			}
			return ask(cmd, func(ctx context.Context, c *redis.Client, _ clientConfig) error {
				if err := c.Do(ctx, line...).Err(); err != nil {
					return err
				}
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "done")
				return err
			})
		},
	}
	addClientFlags(cmd.Flags())
	addConfigFlag(cmd.Flags())
	return cmd
}

func newMemberListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the members", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return ask(cmd, func(ctx context.Context, c *redis.Client, cfg clientConfig) error {
				st, err := askStatus(ctx, c)
				if err != nil {
					return err
				}
				if cfg.JSON {
					return encodeJSON(cmd.OutOrStdout(), st)
				}
				return printMembers(cmd.OutOrStdout(), st)
			})
		},
	}
	addClientFlags(cmd.Flags())
	addConfigFlag(cmd.Flags())
	cmd.Flags().Bool("json", false, "print JSON: the cluster, its leader and an object for each member")
	return cmd
}

// askStatus asks a server what it knows of its cluster.
func askStatus(ctx context.Context, c *redis.Client) (st raftstore.Status, err error) {
	text, err := c.Do(ctx, "REDFENCE", "STATUS").Text()
	if err != nil {
		return st, err
	}
	return st, json.Unmarshal([]byte(text), &st)
}

// isCluster tells whether there is, or was, more than this one server.
func isCluster(st raftstore.Status) bool { return st.Cluster != "" || len(st.Members) > 1 }

// printMembers prints a line for each member. The leader has a star.
func printMembers(out io.Writer, st raftstore.Status) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "MEMBER\tADDRESS\tVOTE\tSTATE\tTERM\tAPPLIED\tLAG\tLAST CONTACT\tSTORE TIME")
	for _, m := range st.Members {
		fmt.Fprintf(table, "%s\t%s\t%s\t", m.ID, m.Addr, yesNo(m.Voter))
		if m.Error != "" {
			fmt.Fprintf(table, "no answer: %s\n", m.Error)
			continue
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%s\t%s\n", m.State, m.Term, m.Applied, m.Lag, contact(m), storeTime(m))
	}
	return table.Flush()
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// contact is how long ago a follower has heard of its leader.
func contact(m raftstore.MemberStatus) string {
	switch {
	case m.State == "leader":
		return "-"
	case m.LastContact < 0:
		return "never"
	}
	return (time.Duration(m.LastContact) * time.Millisecond).String()
}

func storeTime(m raftstore.MemberStatus) string {
	return (time.Duration(m.StoreTime) * time.Millisecond).String()
}

func newRecoverCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "recover",
		Short: "Make a new cluster of this one member, when the majority is lost for good",
		Long:  recoverDangers,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadConfig(cmd.Flags())
			if err != nil {
				return err
			}
			if sure, err := cmd.Flags().GetBool("yes"); err != nil || !sure {
				return errors.New("read 'redfence member recover --help', and say --yes")
			}
			hold, err := cmd.Flags().GetDuration("hold")
			if err != nil {
				return err
			}
			return failed(recoverMember(cmd, cfg, hold))
		},
	}
	addServeFlags(cmd.Flags())
	hide(cmd, "data-dir", "raft-listen", "raft-advertise", "node-id", "log-store", "config")
	addConfigFlag(cmd.Flags())
	cmd.Flags().Bool("yes", false, "the dangers are understood")
	cmd.Flags().Duration("hold", 0, "how long the member then serves nothing; the longest TTL of a key when not given")
	return cmd
}

// recoverDangers is what an operator must know before.
const recoverDangers = `Make a new cluster of the one member in --data-dir, when the majority is lost for good.

Stop the member first. What it has not heard of is lost: locks that the lost majority granted last are free again, while
their holders may still believe that they hold them. Therefore

  - use the member that was furthest (redfence status, APPLIED),
  - make sure that no other old member runs and serves; they belong to the old cluster, and are refused by the new one:
    start them again with an empty --data-dir,
  - all fencing tokens from here on are an hour above the last one, so a resource that checks tokens refuses old holders,
  - the member serves nothing for the longest TTL that a key has, so that lost locks run out (--hold changes that).`

// hide leaves only some flags in the help of a command.
func hide(cmd *cobra.Command, shown ...string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Hidden = !slices.Contains(shown, f.Name) })
}

func recoverMember(cmd *cobra.Command, cfg Config, hold time.Duration) error {
	log, err := newLogger(cfg, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	r, err := raftstore.Recover(storeConfig(cfg, log, nil), hold)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "recovered %s with %d keys up to log entry %d\nnew cluster %s; tokens go on above %d; "+
		"it serves nothing for %v after its start\n", r.Member, r.Keys, r.Index, r.Cluster, r.LastToken, r.Hold)
	return err
}
