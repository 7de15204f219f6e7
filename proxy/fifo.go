package proxy

// fifo is a queue of slots in a ring that grows as needed, and shrinks when it is empty again.
type fifo struct {
	ring  []*slot // its length is a power of two
	head  int
	count int
}

// keptSlots is the size of a ring that is kept when it runs empty.
const keptSlots = 256

func (q *fifo) len() int { return q.count }

func (q *fifo) first() *slot { return q.ring[q.head] }

func (q *fifo) at(i int) **slot { return &q.ring[(q.head+i)&(len(q.ring)-1)] }

func (q *fifo) push(s *slot) {
	if q.count == len(q.ring) {
		q.grow()
	}
	*q.at(q.count) = s
	q.count++
}

func (q *fifo) pop() *slot {
	s := q.first()
	*q.at(0) = nil
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.count--
	if q.count == 0 && len(q.ring) > keptSlots {
		q.clear()
	}
	return s
}

func (q *fifo) each(visit func(*slot)) {
	for i := range q.count {
		visit(*q.at(i))
	}
}

func (q *fifo) clear() { *q = fifo{} }

func (q *fifo) grow() {
	ring := make([]*slot, max(8, 2*len(q.ring)))
	for i := range q.count {
		ring[i] = *q.at(i)
	}
	q.ring, q.head = ring, 0
}
