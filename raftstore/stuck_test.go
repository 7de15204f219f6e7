package raftstore

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/redfence/redfence/commands"
)

// stuckLog is a disk that hangs once it is stuck: a write goes on when a token comes.
type stuckLog struct {
	raft.LogStore
	stuck   atomic.Bool
	writing chan struct{} // told when a write hangs, if there is room
	tokens  chan struct{}
}

func (l *stuckLog) StoreLogs(logs []*raft.Log) error {
	if l.stuck.Load() {
		select {
		case l.writing <- struct{}{}:
		default:
		}
		<-l.tokens
	}
	return l.LogStore.StoreLogs(logs)
}

// openStuck opens a store and then makes its disk hang, until the end of the test at the latest.
func openStuck(t *testing.T, cfg Config) (*Store, *stuckLog) {
	t.Helper()
	l := &stuckLog{writing: make(chan struct{}, 1), tokens: make(chan struct{})}
	cfg.disk = func(log raft.LogStore) raft.LogStore {
		l.LogStore = log
		return l
	}
	s := open(t, cfg)
	t.Cleanup(func() { close(l.tokens) })
	l.stuck.Store(true)
	return s, l
}

type answer struct {
	commands.Result
	after time.Duration
}

// ask submits a SET and returns where its answer comes.
func ask(t *testing.T, s *Store, key string) chan answer {
	t.Helper()
	return askFor(t, s, "SET", key, "v")
}

// askFor submits a request on a stream of its own and returns where its answer comes.
func askFor(t *testing.T, s *Store, line ...string) chan answer {
	t.Helper()
	answers, began := make(chan answer, 1), time.Now()
	s.Open().Submit(&commands.Call{
		Requests: []*commands.Request{request(t, line...)},
		Done:     func(r commands.Result) { answers <- answer{r, time.Since(began)} },
	})
	return answers
}

func TestAHangingDiskLeavesNobodyWithoutAnswer(t *testing.T) {
	cfg := DefaultConfig(t.TempDir())
	cfg.MaxWait = 400 * time.Millisecond
	s, l := openStuck(t, cfg)
	asked := []chan answer{ask(t, s, "first")}
	<-l.writing
	for range 10 {
		asked = append(asked, ask(t, s, "more"))
	}
	deadline := time.After(20 * cfg.MaxWait)
	for i, answers := range asked {
		select {
		case a := <-answers:
			unknown := strings.HasPrefix(a.Reply.Str, "ERR UNKNOWN outcome") && a.Close
			refused := strings.HasPrefix(a.Reply.Str, "TRYAGAIN ") && !a.Close
			if !unknown && !refused {
				t.Errorf("request %d: %+v", i, a)
			}
		case <-deadline:
			t.Fatalf("request %d was never answered", i)
		}
	}
}

func TestNobodyWaitsTwice(t *testing.T) {
	cfg := DefaultConfig(t.TempDir())
	cfg.MaxWait = 2 * time.Second
	s, l := openStuck(t, cfg)
	ask(t, s, "first")
	<-l.writing
	ask(t, s, "second")
	third := ask(t, s, "third")
	<-time.After(cfg.MaxWait * 8 / 10) // the time that the third spends in the queue
	l.tokens <- struct{}{}
	if a := <-third; a.after > cfg.MaxWait*15/10 {
		t.Errorf("answered after %v, MaxWait is %v", a.after, cfg.MaxWait)
	}
}

// TestAHangingStateMachineLeavesNobodyWithoutAnswer holds up the state machine with one entry in it, one in the log
// behind it, and calls in the queue.
func TestAHangingStateMachineLeavesNobodyWithoutAnswer(t *testing.T) {
	cfg := DefaultConfig(t.TempDir())
	cfg.MaxWait = 400 * time.Millisecond
	s := open(t, cfg)
	s.machine.mu.Lock()
	var asked []chan answer
	for range 10 {
		asked = append(asked, askFor(t, s, "INCR", "k")) // it always goes through the log
	}
	for i, answers := range asked {
		select {
		case a := <-answers:
			if !strings.HasPrefix(a.Reply.Str, "ERR UNKNOWN outcome") && !strings.HasPrefix(a.Reply.Str, "TRYAGAIN ") {
				t.Errorf("request %d: %+v", i, a)
			}
		case <-time.After(20 * cfg.MaxWait):
			t.Errorf("request %d was never answered", i)
		}
	}
	s.machine.mu.Unlock()
	eventually(t, "requests are executed again", func() bool { // a busy disk alone may take longer than this patience
		return !(<-askFor(t, s, "INCR", "k")).Reply.IsErr()
	})
}
