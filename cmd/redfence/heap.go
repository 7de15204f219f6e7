package main

// heapFloor is how many bytes the garbage collector takes to be in use in any case.
const heapFloor = 32 << 20

// raiseHeap makes the collector wait until about heapFloor bytes of garbage are there. A node with few locks has a heap of
// some MiB, which would be collected many times a second under load, and each time costs, however little there is to keep.
// What it returns must stay reachable. It takes addresses but no memory, since nobody ever writes to it.
func raiseHeap() []byte { return make([]byte, heapFloor) }
