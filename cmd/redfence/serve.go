package main

import (
	"context"
	"errors"
	"io"
)

func serve(ctx context.Context, cfg Config, stderr io.Writer) error {
	return errors.New("wiring")
}
