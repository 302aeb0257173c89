package slave

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"bproc/wire"
)

// caller makes calls in a bubble of their own time.
type caller struct {
	calls
	t       *testing.T
	answers chan string
}

func newCaller(t *testing.T) *caller {
	c := &caller{t: t, answers: make(chan string, 16)}
	c.out = newOutlet(nil)
	return c
}

// call makes a call about a process, whose answer comes to answers.
func (c *caller) call(ctx context.Context, pid int64) {
	go func() {
		r, err := c.make(ctx, uint64(pid), &wire.Call{Caller: 17, Op: wire.CallExists, Args: []int64{pid}})
		if err != nil {
			c.answers <- fmt.Sprintf("%d: %v", pid, err)
			return
		}
		c.answers <- fmt.Sprintf("%d: %d", pid, r.Value)
	}()
	synctest.Wait()
}

// session begins a session and returns the calls that are in it, by number.
func (c *caller) session() map[uint64]int64 {
	c.t.Helper()
	if err := c.begin(func() error { return c.out.start(new(wire.Inventory)) }); err != nil {
		c.t.Fatal(err)
	}
	return c.told()
}

// told returns the calls that were put into the outbox since the last time.
func (c *caller) told() map[uint64]int64 {
	c.t.Helper()
	var out bytes.Buffer
	done, ended := make(chan struct{}), make(chan error)
	go func() { ended <- c.out.Run(done, &out) }()
	synctest.Wait()
	close(done)
	if err := <-ended; err != nil {
		c.t.Fatal(err)
	}
	buf := out.Bytes()
	told := make(map[uint64]int64)
	for len(buf) > 0 {
		h, err := wire.ParseHeader(buf)
		if err != nil {
			c.t.Fatal(err)
		}
		end := wire.HeaderSize + int(h.Length)
		m, err := wire.Decode(h, buf[wire.HeaderSize:end])
		if err != nil {
			c.t.Fatal(err)
		}
		if call, ok := m.(*wire.Call); ok {
			told[h.Number] = call.Args[0]
		}
		buf = buf[end:]
	}
	return told
}

// TestCallsOutliveTheirSession has calls before, in and between sessions.
func TestCallsOutliveTheirSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCaller(t)
		c.call(t.Context(), 10)
		first := c.session()
		c.call(t.Context(), 11)
		for number, pid := range c.told() {
			first[number] = pid
		}
		if len(first) != 2 {
			t.Fatalf("got %v, want both calls once", first)
		}
		for number, pid := range first {
			if pid == 11 {
				c.returned(number, &wire.Return{Value: 1})
				c.returned(number, &wire.Return{Value: 2}) // nobody waits for that
			}
		}
		if got := <-c.answers; got != "11: 1" {
			t.Errorf("got %q", got)
		}
		c.out.Close()
		c.call(t.Context(), 12)
		second := c.session()
		if len(second) != 2 {
			t.Fatalf("got %v, want the call without an answer, and the new one", second)
		}
		answers := map[string]bool{}
		for number, pid := range second {
			c.returned(number, &wire.Return{Value: 100 + pid})
			answers[<-c.answers] = true
		}
		if !answers["10: 110"] || !answers["12: 112"] {
			t.Errorf("got %v", answers)
		}
		if third := c.session(); len(third) != 0 {
			t.Errorf("got %v in the third session, want nothing", third)
		}
	})
}

func TestCallIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCaller(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		c.call(ctx, 10)
		cancel(errors.New("gone"))
		if got := <-c.answers; got != "10: gone" {
			t.Errorf("got %q", got)
		}
		if got := c.session(); len(got) != 0 {
			t.Errorf("got %v, want nothing", got)
		}
	})
}
