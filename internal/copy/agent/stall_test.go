package agent

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// lazy is a sink that takes one piece each time it is told to.
type lazy struct {
	turn  chan struct{}
	ended chan struct{}
	once  sync.Once
	taken int // pieces
}

func newLazy() *lazy { return &lazy{turn: make(chan struct{}), ended: make(chan struct{})} }

func (l *lazy) write([]byte, bool) error {
	select {
	case <-l.turn:
		l.taken++
		return nil
	case <-l.ended:
		return errDropped
	}
}

func (l *lazy) finish() error { return l.write(nil, false) }
func (l *lazy) abort()        { l.once.Do(func() { close(l.ended) }) }

// TestStalled has outlets that take nothing, or little. Those that take nothing must be dropped,
// and all others must get everything.
func TestStalled(t *testing.T) {
	const ticks, many = 10, 3 * queue
	for name, tc := range map[string]struct {
		pieces int
		pace   time.Duration // of the slow outlet, per piece; 0: it takes nothing
		id     int
		want   []int
	}{
		"nothing":                  {many, 0, 7, []int{7}},
		"little":                   {many, (ticks - 1) * Tick, 7, nil},
		"nothing to the end":       {1, 0, 7, []int{7}},
		"own target":               {many, 0, localID, []int{localID}},
		"own target, to the end":   {1, 2 * ticks * Tick, localID, nil},
		"pieces of a long time":    {many, (ticks + 2) * Tick, 7, []int{7}},
		"a long time, nobody held": {1, (ticks - 1) * Tick, 7, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHub(t.Context())
				quick, slow := newLazy(), newLazy()
				h.add(1, quick)
				h.add(tc.id, slow)
				h.start()
				var stalled []int
				watched := make(chan struct{})
				go func() {
					h.watch(ticks, func(id int) { stalled = append(stalled, id) })
					close(watched)
				}()
				go func() { // takes everything
					for {
						select {
						case quick.turn <- struct{}{}:
						case <-t.Context().Done():
							return
						}
					}
				}()
				go func() {
					for tc.pace > 0 {
						select {
						case <-time.After(tc.pace):
						case <-t.Context().Done():
							return
						}
						select {
						case slow.turn <- struct{}{}:
						case <-slow.ended:
							return
						case <-t.Context().Done():
							return
						}
					}
				}()
				time.AfterFunc(time.Hour, h.abort) // prevents a hang
				for range tc.pieces {
					if err := h.pass(newPiece()); err != nil {
						t.Fatal(err)
					}
				}
				h.end(true)
				<-watched
				if !slices.Equal(stalled, tc.want) || quick.taken != tc.pieces+1 {
					t.Errorf("got %v, want %v; the other one has taken %d of %d", stalled, tc.want, quick.taken, tc.pieces+1)
				}
			})
		})
	}
}
