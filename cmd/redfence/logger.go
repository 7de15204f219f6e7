package main

import (
	"fmt"
	"io"
	"log/slog"
	"math"

	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zapcore"
)

// logger is the process's log: zap does the writing, the packages get it as a slog.Logger.
type logger struct {
	*slog.Logger
	out     zapcore.WriteSyncer
	encoder zapcore.Encoder // nil for console
}

// noStacks is above every level: where an error was logged says nothing to an operator.
const noStacks = slog.Level(math.MaxInt)

// newLogger writes to out in the configuration's format, from its level on. Both must have passed Validate.
func newLogger(cfg Config, out io.Writer) (*logger, error) {
	level, err := zapcore.ParseLevel(cfg.LogLevel)
	if err != nil {
		return nil, err
	}
	l := &logger{out: zapcore.Lock(zapcore.AddSync(out))}
	encoder := zapcore.NewConsoleEncoder(consoleFields())
	if cfg.LogFormat == "json" {
		l.encoder = zapcore.NewJSONEncoder(jsonFields())
		encoder = l.encoder
	}
	l.Logger = slog.New(zapslog.NewHandler(zapcore.NewCore(encoder, l.out, level), zapslog.AddStacktraceAt(noStacks)))
	return l, nil
}

// Ready says that clients are served. Scripts wait for this line, so it is written at every log level, and on
// the console without a time in front.
func (l *logger) Ready(listen, mode string) error {
	if l.encoder == nil {
		_, err := fmt.Fprintf(l.out, "redfence ready listen=%s mode=%s\n", listen, mode)
		return err
	}
	zap.New(zapcore.NewCore(l.encoder, l.out, zapcore.InfoLevel)).
		Info("redfence ready", zap.String("listen", listen), zap.String("mode", mode))
	return nil
}

func jsonFields() zapcore.EncoderConfig {
	fields := zap.NewProductionEncoderConfig()
	fields.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	return fields
}

func consoleFields() zapcore.EncoderConfig {
	fields := zap.NewDevelopmentEncoderConfig()
	fields.EncodeTime = zapcore.ISO8601TimeEncoder
	return fields
}
