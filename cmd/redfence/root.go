package main

import (
	"github.com/spf13/cobra"
)

// runError marks an error that happened while doing what a correct command line asked for. All others are about
// the command line or the configuration.
type runError struct{ err error }

func (e *runError) Error() string { return e.err.Error() }
func (e *runError) Unwrap() error { return e.err }

// failed marks err as one of running; nil stays nil.
func failed(err error) error {
	if err == nil {
		return nil
	}
	return &runError{err}
}

// newRootCommand builds the command tree. Without a subcommand it serves.
func newRootCommand() *cobra.Command {
	root := newServeCommand()
	root.Use = "redfence"
	root.Version = version()
	root.Short = "A Redis-protocol lock server with fencing tokens"
	root.SilenceErrors = true
	root.SilenceUsage = true
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(newServeCommand(), newStatusCommand(), newMemberCommand(), newFenceCommand(), newImportCommand(), newDemoCommand(), newVersionCommand())
	return root
}

func newServeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve locks (the default command)",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			relax()
			cfg, err := loadConfig(cmd.Flags())
			if err != nil {
				return err
			}
			return failed(serve(cmd.Context(), cfg, cmd.ErrOrStderr()))
		},
	}
	cmd.Flags().SortFlags = false
	addServeFlags(cmd.Flags())
	addConfigFlag(cmd.Flags())
	return cmd
}
