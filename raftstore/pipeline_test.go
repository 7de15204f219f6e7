package raftstore

import (
	"io"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// A pipeline whose answers nobody takes any more goes on taking requests until it is closed.
func TestAPipelineWaitsForNobody(t *testing.T) {
	leader, follower := tcpTransport(t), tcpTransport(t)
	go func() {
		for rpc := range follower.Consumer() {
			rpc.Respond(&raft.AppendEntriesResponse{Success: true}, nil)
		}
	}()
	inner, err := leader.AppendEntriesPipeline("follower", follower.LocalAddr())
	if err != nil {
		t.Fatal(err)
	}
	p := newPipeline(inner, &aheadLog{})
	sent := make(chan error, 1)
	go func() {
		var err error
		for range pipelineRoom / 4 {
			if err == nil {
				_, err = p.AppendEntries(&raft.AppendEntriesRequest{}, &raft.AppendEntriesResponse{})
			}
		}
		sent <- err
	}()
	select {
	case err := <-sent:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("a request waits for somebody to take the answers")
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func tcpTransport(t *testing.T) *raft.NetworkTransport {
	t.Helper()
	tr, err := raft.NewTCPTransport("127.0.0.1:0", nil, 1, 5*time.Second, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	})
	return tr
}
