//go:build race

package script_test

const slowdown = 8
