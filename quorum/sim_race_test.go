//go:build race

package quorum

// raceDetector tells whether the test runs under the race detector, which makes schedules ten times slower.
const raceDetector = true
