//go:build !linux

package main

import "time"

// alarm is Go's own timer, to the millisecond.
type alarm struct{}

func newAlarm() (*alarm, error) { return &alarm{}, nil }

// wait returns when d has passed, at once when it is not positive.
func (*alarm) wait(d time.Duration) error {
	time.Sleep(d)
	return nil
}

// Close implements io.Closer.
func (*alarm) Close() error { return nil }
