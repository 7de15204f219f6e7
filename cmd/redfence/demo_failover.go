package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/redis/go-redis/v9/logging"
	"github.com/spf13/cobra"

	"github.com/redfence/redfence/cmd/redfence/demo"
)

func newFailoverCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "failover",
		Short: "Lose a lock in a failover of Redis, and keep it with redfence",
		Long: "Lose a lock in a failover of Redis, and keep it with redfence.\n\n" +
			"Two users of one lock find the master through Sentinels. Before a real Redis with a replica and three Sentinels both have the\n" +
			"lock after the master was killed. Then the same users have the addresses of redfence, in raft mode and in quorum mode.\n" +
			"Needs the program redis-server. Nothing that runs already is touched.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return failed(demoFailover(cmd)) },
	}
}

func demoFailover(cmd *cobra.Command) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	server, err := exec.LookPath("redis-server")
	if err != nil {
		return fmt.Errorf("the demonstration runs a real Redis: install redis-server; %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "redfence-demo-")
	if err != nil {
		return err
	}
	logging.Disable() // the go-redis library writes of the failures that are to be shown
	err = demo.Failover(ctx, dir, demo.Tools{Redis: server, Redfence: self}, cmd.OutOrStdout())
	return errors.Join(err, os.RemoveAll(dir))
}
