package main

import (
	"errors"
	"strconv"

	"github.com/docker/go-units"
)

// Size is a number of bytes. It reads as Redis writes sizes: 64mb is 64 * 1024 * 1024,
// a bare number is bytes.
type Size int64

// The units that [Size] prints, largest first; they are powers of 1024, as in redis.conf.
const (
	kib Size = 1 << 10
	mib Size = 1 << 20
	gib Size = 1 << 30
)

var errNegativeSize = errors.New("a size cannot be negative")

// String prints the size in the largest unit that divides it, so that reading it again gives the same number.
func (s Size) String() string {
	switch {
	case s == 0 || s%kib != 0:
		return strconv.FormatInt(int64(s), 10)
	case s%gib == 0:
		return strconv.FormatInt(int64(s/gib), 10) + "gb"
	case s%mib == 0:
		return strconv.FormatInt(int64(s/mib), 10) + "mb"
	default:
		return strconv.FormatInt(int64(s/kib), 10) + "kb"
	}
}

// Set reads a size such as 1gb, 64mb, 512kb or 4096. It is part of pflag.Value.
func (s *Size) Set(text string) error {
	n, err := units.RAMInBytes(text)
	if err != nil {
		return err
	}
	if n < 0 {
		return errNegativeSize
	}
	*s = Size(n)
	return nil
}

// Type names the value in help texts. It is part of pflag.Value.
func (s *Size) Type() string { return "size" }

// UnmarshalText lets the configuration file and the environment write sizes as flags do.
func (s *Size) UnmarshalText(text []byte) error { return s.Set(string(text)) }
