package raftstore

import (
	"context"
	"io"
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// raftLogger lets the Raft library write to our logger.
func raftLogger(logger *slog.Logger) hclog.Logger {
	l := hclog.NewInterceptLogger(&hclog.LoggerOptions{Output: io.Discard, Level: hclog.Debug})
	l.RegisterSink(slogSink{logger})
	return l
}

// cutOff is how the library tells, as of an error, that another member has closed a connection or that this node stops.
const cutOff = "failed to decode incoming command"

// aloneElection is how the library warns of what a node without others does at every start: it elects itself.
const aloneElection = "heartbeat timeout reached, starting election"

type slogSink struct{ logger *slog.Logger }

// Accept implements hclog.SinkAdapter.
func (s slogSink) Accept(name string, level hclog.Level, msg string, args ...any) {
	to := slog.LevelDebug
	switch {
	case msg == cutOff:
	case level >= hclog.Error:
		to = slog.LevelError
	case level == hclog.Warn && msg != aloneElection:
		to = slog.LevelWarn
	}
	s.logger.Log(context.Background(), to, msg, append(args, "source", name)...)
}
