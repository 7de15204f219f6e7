package raftstore

import (
	"sync"

	"github.com/hashicorp/raft"
)

// pipelineRoom is how many answers of a pipeline wait for the library. It sends a few more requests at most once it takes no
// answers any more.
const pipelineRoom = 128

// pipeline takes answers off the library's pipeline at once. Version 1.8 stops taking them when a member has refused an
// entry or knows a later term, and then sends one more request: with no room for the answer before, that request waits for
// ever, so the member gets no entries until another leader comes, and a shutdown never ends.
type pipeline struct {
	raft.AppendPipeline
	log     *aheadLog
	answers chan raft.AppendFuture
	closed  chan struct{}
	once    sync.Once
}

func newPipeline(inner raft.AppendPipeline, log *aheadLog) *pipeline {
	p := &pipeline{AppendPipeline: inner, log: log, answers: make(chan raft.AppendFuture, pipelineRoom), closed: make(chan struct{})}
	go p.take()
	return p
}

// AppendEntries implements raft.AppendPipeline.
func (p *pipeline) AppendEntries(q *raft.AppendEntriesRequest, a *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	q.LeaderCommitIndex = p.log.onDisk(q.LeaderCommitIndex)
	return p.AppendPipeline.AppendEntries(q, a)
}

// Consumer implements raft.AppendPipeline.
func (p *pipeline) Consumer() <-chan raft.AppendFuture { return p.answers }

// Close implements raft.AppendPipeline.
func (p *pipeline) Close() error {
	p.once.Do(func() { close(p.closed) })
	return p.AppendPipeline.Close()
}

func (p *pipeline) take() {
	for {
		select {
		case a := <-p.AppendPipeline.Consumer():
			select {
			case p.answers <- a:
			case <-p.closed:
				return
			}
		case <-p.closed:
			return
		}
	}
}
