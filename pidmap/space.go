package pidmap

import (
	"container/list"
	"math/bits"
)

// unit is the number of process numbers in a unit of a [space].
const unit = 128

// space is a set of free units of the zone, as chunks of a power of two that begin at a multiple of
// their size; two that make up a larger chunk are merged. Of the chunks of a size, the one that was
// returned longest ago is taken first, so that a number comes back as late as possible. No
// operation costs more with more nodes.
type space struct {
	low, high int // bounds of the units that may be here
	free      int // number of units that are here
	lists     []*list.List
	at        map[int]*list.Element // chunks by their first units
}

// chunk is 1<<order units.
type chunk struct{ first, order int }

func (c chunk) end() int { return c.first + 1<<c.order }

// newSpace returns a space that has all of its units.
func newSpace(low, high int) *space {
	s := &space{low: low, high: high, lists: make([]*list.List, bits.Len(uint(high))+1), at: map[int]*list.Element{}}
	for i := range s.lists {
		s.lists[i] = list.New()
	}
	s.give(low, high)
	return s
}

// give adds units that are not here. Those outside of the space are ignored.
func (s *space) give(first, end int) {
	first, end = max(first, s.low), min(end, s.high)
	for first < end {
		order := bits.Len(uint(end-first)) - 1
		if first > 0 {
			order = min(order, bits.TrailingZeros(uint(first)))
		}
		s.merge(chunk{first, order})
		first += 1 << order
	}
}

// take removes units. Those that are not here are ignored.
func (s *space) take(first, end int) {
	first, end = max(first, s.low), min(end, s.high)
	for first < end {
		c, ok := s.with(first)
		if !ok {
			first++
			continue
		}
		s.remove(c)
		s.give(c.first, first)
		s.give(end, c.end())
		first = c.end()
	}
}

// find returns the first of 1<<order units that are here, and begin at a multiple of that.
func (s *space) find(order int) (first int, ok bool) {
	for ; order < len(s.lists); order++ {
		if e := s.lists[order].Front(); e != nil {
			return e.Value.(chunk).first, true
		}
	}
	return 0, false
}

// with returns the chunk that contains a unit.
func (s *space) with(u int) (chunk, bool) {
	for order := range s.lists {
		if e := s.at[u&^(1<<order-1)]; e != nil {
			if c := e.Value.(chunk); u < c.end() {
				return c, true
			}
		}
	}
	return chunk{}, false
}

// merge adds a chunk, merged into the largest that it completes.
func (s *space) merge(c chunk) {
	for c.order < len(s.lists)-1 {
		other := s.at[c.first^1<<c.order]
		if other == nil || other.Value.(chunk).order != c.order {
			break
		}
		s.remove(other.Value.(chunk))
		c = chunk{c.first &^ (1 << c.order), c.order + 1}
	}
	s.at[c.first] = s.lists[c.order].PushBack(c)
	s.free += 1 << c.order
}

func (s *space) remove(c chunk) {
	s.lists[c.order].Remove(s.at[c.first])
	delete(s.at, c.first)
	s.free -= 1 << c.order
}
