package script

import "container/list"

// cache keeps compiled scripts by SHA1, bounded by count and by bytes of text; the least recently used one goes first.
// What it holds never changes a result, only the time it takes.
type cache struct {
	bySHA           map[string]*list.Element
	order           *list.List // of *cached, most recently used first
	count, bytes    int
	maxCount, maxSz int
}

type cached struct {
	sha string
	p   *program
}

func newCache(maxCount, maxBytes int) *cache {
	return &cache{bySHA: map[string]*list.Element{}, order: list.New(), maxCount: maxCount, maxSz: maxBytes}
}

func (c *cache) get(sha string) *program {
	el, ok := c.bySHA[sha]
	if !ok {
		return nil
	}
	c.order.MoveToFront(el)
	return el.Value.(*cached).p
}

func (c *cache) put(sha string, p *program) {
	if _, ok := c.bySHA[sha]; ok {
		return
	}
	c.bySHA[sha] = c.order.PushFront(&cached{sha: sha, p: p})
	c.count++
	c.bytes += p.size
	for c.count > c.maxCount || c.bytes > c.maxSz {
		c.evict()
	}
}

func (c *cache) evict() {
	el := c.order.Back()
	old := c.order.Remove(el).(*cached)
	delete(c.bySHA, old.sha)
	c.count--
	c.bytes -= old.p.size
}
