package raftstore

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// heldDisk asks before each write whether it may, and how it ends.
type heldDisk struct {
	*raft.InmemStore
	asked chan []*raft.Log
	told  chan error
}

func (d *heldDisk) StoreLogs(logs []*raft.Log) error {
	d.asked <- logs
	if err := <-d.told; err != nil {
		return err
	}
	return d.InmemStore.StoreLogs(logs)
}

// expect lets the disk end a write of just these entries with err.
func (d *heldDisk) expect(t *testing.T, err error, indexes ...uint64) {
	t.Helper()
	if got := indexesOf(<-d.asked); !slices.Equal(got, indexes) {
		t.Fatalf("entries %d are written, want %d", got, indexes)
	}
	d.told <- err
}

func indexesOf(logs []*raft.Log) (list []uint64) {
	for _, log := range logs {
		list = append(list, log.Index)
	}
	return list
}

// openAhead is a log over a disk that is held.
func openAhead(t *testing.T) (*aheadLog, *heldDisk, *atomic.Bool) {
	t.Helper()
	d := &heldDisk{InmemStore: raft.NewInmemStore(), asked: make(chan []*raft.Log), told: make(chan error)}
	leads := new(atomic.Bool)
	leads.Store(true)
	l := newAhead(d)
	l.leads = leads.Load
	t.Cleanup(func() { _ = l.Close() })
	return l, d, leads
}

// command is an entry with its index as data.
func command(index uint64) *raft.Log {
	return &raft.Log{Index: index, Term: 1, Type: raft.LogCommand, Data: []byte{byte(index)}}
}

// store stores an entry, which must not fail.
func store(t *testing.T, l *aheadLog, logs ...*raft.Log) {
	t.Helper()
	if err := l.StoreLogs(logs); err != nil {
		t.Fatal(err)
	}
}

// later runs f, and wants it to return only once the returned function has been called, which returns what it did.
func later(t *testing.T, f func() error) func() error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		t.Fatalf("it did not wait, and returned %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	return func() error { return <-done }
}

func TestALeaderTakesCommandsBeforeItsDiskHasThem(t *testing.T) {
	l, d, _ := openAhead(t)
	store(t, l, command(1))
	wrote := <-d.asked // the first is on its way, and the next two come meanwhile
	store(t, l, command(2))
	store(t, l, command(3))
	for i := uint64(1); i <= 3; i++ {
		var log raft.Log
		if err := l.GetLog(i, &log); err != nil || log.Index != i || log.Data[0] != byte(i) {
			t.Errorf("entry %d: %+v, %v", i, log, err)
		}
	}
	if got := l.onDisk(9); got != 0 || len(wrote) != 1 {
		t.Errorf("the disk has entries up to %d, and %d are written", got, len(wrote))
	}
	applied := later(t, func() error { return l.wait(1) })
	d.told <- nil
	if err := applied(); err != nil {
		t.Error(err)
	}
	second := <-d.asked
	if got := indexesOf(second); !slices.Equal(got, []uint64{2, 3}) {
		t.Errorf("then %d are written", got)
	}
	if got := l.onDisk(9); got != 1 {
		t.Errorf("the disk has entries up to %d", got)
	}
	second[0].Extensions = []byte("of the log below")
	var log raft.Log
	if err := l.GetLog(2, &log); err != nil || log.Extensions != nil {
		t.Errorf("entry 2 is %+v, %v", log, err)
	}
	d.told <- nil
	if err := l.wait(3); err != nil || l.onDisk(9) != 9 {
		t.Errorf("%v, the disk has entries up to %d", err, l.onDisk(9))
	}
}

func TestAllElseIsBehindWhatIsInMemory(t *testing.T) {
	tests := []struct {
		name   string
		leads  bool
		do     func(l *aheadLog) error
		writes []uint64 // by itself, behind entry 1
	}{
		{"a follower stores", false, func(l *aheadLog) error { return l.StoreLogs([]*raft.Log{command(2)}) }, []uint64{2}},
		{"a leader stores a configuration", true, func(l *aheadLog) error {
			return l.StoreLogs([]*raft.Log{{Index: 2, Type: raft.LogConfiguration}})
		}, []uint64{2}},
		{"a leader stores a barrier with a command", true, func(l *aheadLog) error {
			return l.StoreLogs([]*raft.Log{command(2), {Index: 3, Type: raft.LogBarrier}})
		}, []uint64{2, 3}},
		{"a follower compares", false, func(l *aheadLog) error { return l.GetLog(1, new(raft.Log)) }, nil},
		{"a follower cuts off", false, func(l *aheadLog) error { return l.DeleteRange(1, 1) }, nil},
		{"the first index", true, func(l *aheadLog) error {
			first, err := l.FirstIndex()
			return errors.Join(err, is(first, 1))
		}, nil},
		{"the last index", true, func(l *aheadLog) error {
			last, err := l.LastIndex()
			return errors.Join(err, is(last, 1))
		}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l, d, leads := openAhead(t)
			store(t, l, command(1))
			leads.Store(tt.leads)
			wait := later(t, func() error { return tt.do(l) })
			d.expect(t, nil, 1)
			if tt.writes != nil {
				d.expect(t, nil, tt.writes...)
			}
			if err := wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

func is(got, want uint64) error {
	if got != want {
		return fmt.Errorf("it is %d, want %d", got, want)
	}
	return nil
}

func TestALogThatCannotBeWrittenTakesNoMore(t *testing.T) {
	full, second := errors.New("no space left on device"), errors.New("it does not follow")
	l, d, leads := openAhead(t)
	told := make(chan error, 9)
	l.failed = func(err error) { told <- err }
	store(t, l, command(1))
	applied := later(t, func() error { return l.wait(1) })
	d.expect(t, full, 1)
	if err := <-told; !errors.Is(err, full) {
		t.Errorf("told of %v", err)
	}
	if err := l.StoreLogs([]*raft.Log{command(2)}); !errors.Is(err, full) {
		t.Errorf("a command afterwards: %v", err)
	}
	leads.Store(false)
	stored := later(t, func() error { return l.StoreLogs([]*raft.Log{command(2)}) })
	d.expect(t, second, 1)
	if err := stored(); !errors.Is(err, full) {
		t.Errorf("a write of a follower: %v, want the first reason", err)
	}
	d.expect(t, nil, 1) // by itself, since the state machine waits
	if err := applied(); err != nil {
		t.Error(err)
	}
	leads.Store(true)
	store(t, l, command(2))
	d.expect(t, nil, 2)
	if len(told) != 0 {
		t.Errorf("told again: %v", <-told)
	}
}

// TestALogThatCannotBeWrittenIsClosed: neither the state machine nor whoever closes waits for ever.
func TestALogThatCannotBeWrittenIsClosed(t *testing.T) {
	full := errors.New("no space left on device")
	l, d, _ := openAhead(t)
	store(t, l, command(1))
	applied := later(t, func() error { return l.wait(1) })
	l.leave()
	d.expect(t, full, 1)
	if err := applied(); !errors.Is(err, full) {
		t.Errorf("the state machine: %v", err)
	}
	go func() {
		for range d.asked { // it may have been about to try again
			d.told <- full
		}
	}()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	close(d.asked)
	if _, err := d.LastIndex(); err != nil || l.onDisk(1) != 0 {
		t.Errorf("the disk has entries up to %d, %v", l.onDisk(1), err)
	}
}

func TestCloseWritesWhatIsInMemory(t *testing.T) {
	l, d, _ := openAhead(t)
	store(t, l, command(1))
	wrote := <-d.asked
	store(t, l, command(2))
	closed := later(t, l.Close)
	d.told <- nil
	d.expect(t, nil, 2)
	if err := closed(); err != nil || len(wrote) != 1 {
		t.Error(err)
	}
	if last, err := d.LastIndex(); err != nil || last != 2 {
		t.Errorf("the disk has entries up to %d, %v", last, err)
	}
}

// TestTheLastEntriesStayInMemory until they are deleted.
func TestTheLastEntriesStayInMemory(t *testing.T) {
	l, d, leads := openAhead(t)
	store(t, l, command(1))
	d.expect(t, nil, 1)
	leads.Store(false)
	stored := later(t, func() error { return l.StoreLogs([]*raft.Log{command(2)}) })
	d.expect(t, nil, 2)
	if err := stored(); err != nil {
		t.Fatal(err)
	}
	if err := d.DeleteRange(1, 2); err != nil {
		t.Fatal(err)
	}
	for i := uint64(1); i <= 2; i++ {
		var log raft.Log
		if err := l.GetLog(i, &log); err != nil || log.Index != i || log.Data[0] != byte(i) {
			t.Errorf("entry %d: %+v, %v", i, log, err)
		}
	}
	if err := l.DeleteRange(2, 2); err != nil {
		t.Fatal(err)
	}
	if err := l.GetLog(2, new(raft.Log)); !errors.Is(err, raft.ErrLogNotFound) {
		t.Errorf("the entry that was deleted: %v", err)
	}
}
