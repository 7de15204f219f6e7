package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
)

func newFenceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fence KEY",
		Short: "Print the fencing token of the lock KEY",
		Long: "Print the fencing token of the lock KEY.\n\n" +
			"When nobody holds KEY there is no token: nothing is printed on standard output and the exit code is 1.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return ask(cmd, func(ctx context.Context, c *redis.Client, _ clientConfig) error {
				token, err := c.Do(ctx, "FENCE", args[0]).Int64()
				if errors.Is(err, redis.Nil) {
					return fmt.Errorf("nobody holds %q, so it has no token", args[0])
				}
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(cmd.OutOrStdout(), token)
				return err
			})
		},
	}
	addClientFlags(cmd.Flags())
	addConfigFlag(cmd.Flags())
	return cmd
}
