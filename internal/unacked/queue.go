package unacked

import (
	"iter"
	"slices"
)

// Queue has items in order. Their numbers grow. An item with number 0 is not acknowledged: it leaves
// the queue when it is passed on.
type Queue[T any] struct {
	items  []item[T]
	passed int // how many of them were passed on
}

type item[T any] struct {
	number uint64
	value  T
}

// Len returns the number of items.
func (q *Queue[T]) Len() int { return len(q.items) }

// All returns the items with their numbers.
func (q *Queue[T]) All() iter.Seq2[uint64, T] {
	return func(yield func(uint64, T) bool) {
		for _, i := range q.items {
			if !yield(i.number, i.value) {
				return
			}
		}
	}
}

// Add appends an item.
func (q *Queue[T]) Add(number uint64, value T) { q.items = append(q.items, item[T]{number, value}) }

// Hasten makes an item without a number the next to be passed on.
func (q *Queue[T]) Hasten(value T) {
	q.items = slices.Insert(q.items, q.passed, item[T]{0, value})
}

// Next returns the item to be passed on next; false: there is none.
func (q *Queue[T]) Next() (value T, ok bool) {
	if q.passed == len(q.items) {
		return value, false
	}
	next := q.items[q.passed]
	if q.passed++; next.number == 0 {
		q.drop(q.passed - 1)
	}
	return next.value, true
}

// Again has all items passed on again.
func (q *Queue[T]) Again() { q.passed = 0 }

// Acknowledge forgets the items up to a number that were passed on. It returns how many these are.
func (q *Queue[T]) Acknowledge(number uint64) (forgotten int) {
	for q.passed > 0 && q.items[0].number <= number {
		q.drop(0)
		forgotten++
	}
	return forgotten
}

// DropOldest forgets the oldest item that may be lost. It reports whether there is one.
func (q *Queue[T]) DropOldest(mayBeLost func(T) bool) bool {
	i := slices.IndexFunc(q.items, func(i item[T]) bool { return mayBeLost(i.value) })
	if i >= 0 {
		q.drop(i)
	}
	return i >= 0
}

// drop removes an item. It moves the items before it, which are few, as the oldest go.
func (q *Queue[T]) drop(i int) {
	copy(q.items[1:], q.items[:i])
	q.items[0] = item[T]{}
	if q.items = q.items[1:]; len(q.items) == 0 {
		q.items = nil
	}
	if i < q.passed {
		q.passed--
	}
}
