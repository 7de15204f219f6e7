package raftstore

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
)

// Bounds of what scripts may write to the log of the process with redis.log.
const (
	maxSaid       = 100  // lines of one script
	maxSaidBytes  = 1024 // bytes of one line, as in Redis (LOG_MAX_LEN in server.h)
	maxSaidQueued = 1024 // lines that wait to be written; more are left out, since the state machine must not wait
)

// scriptLog takes what scripts write with redis.log and hands it on once it is clear that their run counts: not when
// the run is a rehearsal, a try that only the log can decide, or a replay. The machine calls it under its lock.
type scriptLog struct {
	sha     string // of the script that runs
	first   int    // its first line
	lines   []said
	queue   chan said
	dropped atomic.Int64
	listen  func(level int, text string) // hear, made once
}

// said is one line of a script.
type said struct {
	level int // LOG_DEBUG (0) to LOG_WARNING (3)
	text  string
	sha   string
}

func (l *scriptLog) init() { l.queue, l.listen = make(chan said, maxSaidQueued), l.hear }

// begin says which script is about to run.
func (l *scriptLog) begin(sha string) { l.sha, l.first = sha, len(l.lines) }

// hear takes a line of the script that runs.
func (l *scriptLog) hear(level int, text string) {
	if len(l.lines)-l.first >= maxSaid {
		return
	}
	if len(text) > maxSaidBytes {
		text = text[:maxSaidBytes]
	}
	l.lines = append(l.lines, said{level, strings.Clone(text), l.sha})
}

// end hands on all lines, or forgets them when the run does not count.
func (l *scriptLog) end(counts bool) {
	if counts {
		for _, line := range l.lines {
			select {
			case l.queue <- line:
			default:
				l.dropped.Add(1)
			}
		}
	}
	l.cut(0)
}

// cut forgets the lines behind the first n.
func (l *scriptLog) cut(n int) {
	clear(l.lines[n:])
	l.lines = l.lines[:n]
}

// writeScriptLog writes what scripts say until the store closes, and then what is left of it.
func (s *Store) writeScriptLog() {
	defer s.done.Done()
	says := &s.machine.says
	for {
		select {
		case line := <-says.queue:
			says.put(s.cfg.Logger, line)
		case <-s.closing:
			for range len(says.queue) {
				says.put(s.cfg.Logger, <-says.queue)
			}
			return
		}
	}
}

// levels of redis.log in ours.
var saidLevels = [...]slog.Level{slog.LevelDebug, slog.LevelDebug, slog.LevelInfo, slog.LevelWarn}

func (l *scriptLog) put(logger *slog.Logger, line said) {
	logger.Log(context.Background(), saidLevels[line.level], "a script says", "text", line.text, "sha", line.sha)
	if n := l.dropped.Swap(0); n > 0 {
		logger.Warn("scripts say more than can be written; lines were left out", "lines", n)
	}
}
