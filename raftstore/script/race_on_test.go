//go:build race

package script_test

// slowdown is how much longer the interpreter takes under the race detector.
const slowdown = 8
