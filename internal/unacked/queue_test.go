package unacked_test

import (
	"slices"
	"testing"

	"bproc/internal/unacked"
)

// numbers returns the numbers of all items; they must be those of their values.
func numbers(t *testing.T, q *unacked.Queue[int]) (all []int) {
	t.Helper()
	for number, value := range q.All() {
		if number != 0 && int(number) != value {
			t.Errorf("item %d has number %d", value, number)
		}
		all = append(all, value)
	}
	return all
}

// passes has the queue pass on everything.
func passes(q *unacked.Queue[int]) (all []int) {
	for v, ok := q.Next(); ok; v, ok = q.Next() {
		all = append(all, v)
	}
	return all
}

func TestQueue(t *testing.T) {
	var q unacked.Queue[int]
	same := func(what string, got, want []int) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	for i := range 5 {
		q.Add(uint64(i+1), i+1)
	}
	if n := q.Acknowledge(3); n != 0 {
		t.Errorf("%d were acknowledged before they were passed on", n)
	}
	same("at first", passes(&q), []int{1, 2, 3, 4, 5})
	same("nothing new", passes(&q), nil)
	if n := q.Acknowledge(2); n != 2 {
		t.Errorf("%d were acknowledged, want 2", n)
	}
	q.Add(0, -1)
	q.Add(6, 6)
	q.Hasten(-2)
	same("new ones", passes(&q), []int{-2, -1, 6})
	same("those without numbers are gone", numbers(t, &q), []int{3, 4, 5, 6})
	q.Again()
	q.Hasten(-3)
	same("to the next receiver", passes(&q), []int{-3, 3, 4, 5, 6})
	if !q.DropOldest(func(v int) bool { return v != 3 }) || q.DropOldest(func(int) bool { return false }) {
		t.Error("4 may be lost, and then none")
	}
	same("without 4", numbers(t, &q), []int{3, 5, 6})
	q.Add(7, 7)
	same("only the new one", passes(&q), []int{7})
	if n := q.Acknowledge(9); n != 4 || q.Len() != 0 {
		t.Errorf("%d were acknowledged, %d are left", n, q.Len())
	}
	q.Add(10, 10)
	same("after that", passes(&q), []int{10})
}

// TestQueueIsBounded has the oldest items dropped for newer ones, for long.
func TestQueueIsBounded(t *testing.T) {
	var q unacked.Queue[int]
	q.Add(1, 1)
	for i := 2; i < 10_000; i++ {
		if q.Len() == 100 && !q.DropOldest(func(v int) bool { return v != 1 }) {
			t.Fatal("none may be lost")
		}
		q.Add(uint64(i), i)
	}
	got := numbers(t, &q)
	if len(got) != 100 || got[0] != 1 || got[1] != 9901 || got[99] != 9999 {
		t.Errorf("%d are left: %v", len(got), got)
	}
}
