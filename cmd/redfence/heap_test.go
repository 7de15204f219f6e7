package main

import (
	"runtime"
	"runtime/metrics"
	"testing"
)

func TestASmallHeapIsLeftAlone(t *testing.T) {
	floor := raiseHeap()
	runtime.GC()
	goal := []metrics.Sample{{Name: "/gc/heap/goal:bytes"}}
	metrics.Read(goal)
	if got := goal[0].Value.Uint64(); got < 2*heapFloor {
		t.Errorf("the next collection is at %d bytes", got)
	}
	runtime.KeepAlive(floor)
}
