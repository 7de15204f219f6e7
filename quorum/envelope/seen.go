package envelope

const (
	// window is how many numbers of one sender are remembered, from the highest downwards. What is lower was seen, or is
	// a copy that a node kept back for so long that it is of no use any more.
	window = 1 << 16
	// mostSenders is how many senders are remembered; over it the one is forgotten that was silent for longest. So a
	// node on which somebody forges envelopes cannot make the memory grow.
	mostSenders = 256

	wordBits = 64
)

// Seen remembers which letters have come, in bounded memory: at most 2 MiB. It is not safe for concurrent use. The zero
// Seen has seen nothing.
type Seen struct {
	senders map[Sender]*numbers
	clock   uint64 // counts letters
}

// numbers are those of one sender.
type numbers struct {
	highest uint64
	used    uint64 // Seen.clock at the last letter
	bits    [window / wordBits]uint64
}

// First tells whether a letter comes for the first time, and remembers it.
func (s *Seen) First(from Sender, number uint64) bool {
	s.clock++
	n := s.senders[from]
	if n == nil {
		n = s.enter(from, number)
	}
	n.used = s.clock
	return n.first(number)
}

func (s *Seen) enter(from Sender, number uint64) *numbers {
	if s.senders == nil {
		s.senders = map[Sender]*numbers{}
	}
	if len(s.senders) >= mostSenders {
		s.forgetOne()
	}
	n := &numbers{highest: number}
	s.senders[from] = n
	return n
}

func (s *Seen) forgetOne() {
	var oldest Sender
	least := s.clock
	for sender, n := range s.senders {
		if n.used < least {
			oldest, least = sender, n.used
		}
	}
	delete(s.senders, oldest)
}

func (n *numbers) first(number uint64) bool {
	if number > n.highest {
		n.advance(number)
	} else if n.highest-number >= window {
		return false
	}
	word, bit := &n.bits[number%window/wordBits], uint64(1)<<(number%wordBits)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	return true
}

// advance moves the window up; the places of the numbers in between are free again.
func (n *numbers) advance(number uint64) {
	if number-n.highest >= window {
		n.bits = [window / wordBits]uint64{}
	} else {
		for k := n.highest + 1; k <= number; k++ {
			n.bits[k%window/wordBits] &^= 1 << (k % wordBits)
		}
	}
	n.highest = number
}
