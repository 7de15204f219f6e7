package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"
)

// newDemoCommand shows what locks are good for, with servers of its own in a temporary directory.
func newDemoCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show what can go wrong with a lock, and what Redfence does about it",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return errors.New("say which: redfence demo oversell, or redfence demo failover")
		},
	}
	cmd.AddCommand(newOversellCommand(), newCustomerCommand(), newFailoverCommand())
	return cmd
}

func newOversellCommand() *cobra.Command {
	var mode string
	cmd := &cobra.Command{
		Use:   "oversell",
		Short: "Sell one widget twice, and then with fencing tokens only once",
		Long: "Sell one widget twice, and then with fencing tokens only once.\n\n" +
			"Two customers, which are processes of their own, buy the last widget from a real database (SQLite) under a lock. The first one is\n" +
			"stopped (SIGSTOP) for longer than its lock lasts. Without the token the stock ends at -1; with it the late write is refused.\n" +
			"Runs in both modes; quorum mode needs the program redis-server. Nothing that runs already is touched.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if mode != "" {
				if err := oneOf("mode", mode, modeRaft, modeQuorum); err != nil {
					return err
				}
			}
			return failed(oversell(cmd.Context(), cmd.OutOrStdout(), mode))
		},
	}
	cmd.Flags().StringVar(&mode, "mode", "", "raft or quorum; both when not given")
	return cmd
}

// customer is one who buys a widget, as a process of its own.
type customer struct {
	addr, shop, name string
	lease            time.Duration
	fenced           bool
}

func newCustomerCommand() *cobra.Command {
	var c customer
	cmd := &cobra.Command{
		Use: "customer", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return failed(c.visit(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout()))
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&c.addr, "addr", "", "server of the lock")
	fs.StringVar(&c.shop, "shop", "", "database file")
	fs.StringVar(&c.name, "name", "", "who it is")
	fs.DurationVar(&c.lease, "lease", time.Second, "how long the lock lasts")
	fs.BoolVar(&c.fenced, "fenced", false, "send the token to the database")
	return cmd
}
