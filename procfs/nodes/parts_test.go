package nodes_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"bproc/internal/fakemaster"
	"bproc/procfs"
	"bproc/test/limit"
	"bproc/wire"
)

// part sends a part of an answer.
func part(c *fakemaster.Conn, pids ...wire.PID) { c.Send(changedTexts(pids...)) }

// await waits for a signal of the test, or for its end.
func await(t *testing.T, sign <-chan struct{}) {
	select {
	case <-sign:
	case <-t.Context().Done():
	}
}

// TestRefreshTakesParts has a node tell one process, and the next one when the first was taken.
func TestRefreshTakesParts(t *testing.T) {
	f, source := startSource(t, map[wire.PID]string{50: "70 40 40 34816 40", 51: "70 40 40 34816 40"})
	taken := make(chan struct{})
	f.set(0, 2, func(c *fakemaster.Conn) {
		part(c, 50)
		select {
		case <-taken:
		case <-time.After(20 * time.Second):
			t.Error("the first part is not taken before the second")
		}
		part(c, 51)
		c.Send(new(wire.Refreshed))
	})
	var got []wire.PID
	err := source.Refresh(t.Context(), false, func(c procfs.Changes) {
		for _, p := range c.Changed {
			got = append(got, p.PID)
			if want := string(stat(p.PID, "70 40 40 34816 40")); string(p.Stat) != want {
				t.Errorf("got %q, want %q", p.Stat, want)
			}
		}
		if len(got) == 1 {
			close(taken)
		}
	})
	if err != nil || len(got) != 2 || got[0] != 50 || got[1] != 51 {
		t.Errorf("got %v, %v", got, err)
	}
}

// TestRefreshCut cuts the connection to a node in the middle of an answer. Data from before the cut
// stay, and so do data of a former look, until another answer is complete.
func TestRefreshCut(t *testing.T) {
	f, source := startSource(t, map[wire.PID]string{50: "70 40 40 0 -1", 51: "70 40 40 0 -1", 52: "70 40 40 0 -1"})
	f.set(0, 1, tells(50))
	until(t, source, "a process", changed(50, stat(50, "70 40 40 0 -1")))
	f.set(0, 2, func(c *fakemaster.Conn) { c.Close() })
	cut := make(chan struct{}, 100)
	until(t, source, "a part", func(c procfs.Changes) bool {
		f.set(0, 2, func(c *fakemaster.Conn) { // of the next look
			part(c, 51)
			c.Close()
			cut <- struct{}{}
		})
		if len(c.Ended) > 0 {
			t.Errorf("%v have ended with the connection", c.Ended)
		}
		return changed(51, stat(51, "70 40 40 0 -1"))(c)
	})
	until(t, source, "another cut", func(c procfs.Changes) bool {
		if len(c.Ended) > 0 {
			t.Errorf("%v have ended in the middle of an answer", c.Ended)
		}
		return len(cut) > 1
	})
	f.set(0, 1, tells(52))
	gone := map[wire.PID]bool{}
	until(t, source, "the ends of what is not told any more", func(c procfs.Changes) bool {
		for _, pid := range c.Ended {
			gone[pid] = true
		}
		return gone[50] && gone[51]
	})
	if gone[52] {
		t.Error("a process that is told has ended")
	}
}

// TestRefreshEnds has a node tell the same process for ever. The source stops reading, and does not
// conclude that the node has no other processes.
func TestRefreshEnds(t *testing.T) {
	f, source := startSource(t, map[wire.PID]string{50: "70 40 40 0 -1", 51: "70 40 40 0 -1"})
	f.set(0, 2, tells(51))
	until(t, source, "a process", changed(51, stat(51, "70 40 40 0 -1")))
	frame, err := wire.Append(nil, 0, changedTexts(50))
	if err != nil {
		t.Fatal(err)
	}
	payload := string(frame[wire.HeaderSize:])
	f.set(0, 2, func(c *fakemaster.Conn) { c.Close() })
	stopped := make(chan struct{}, 100)
	until(t, source, "the end of the look", func(c procfs.Changes) bool {
		f.set(0, 2, func(c *fakemaster.Conn) { // of the next look
			for begin := time.Now(); c.Output(wire.TypeChanged, payload) == nil; {
				if time.Since(begin) > limit.Scaled(10*time.Second) {
					t.Error("the node goes on and is listened to")
					c.Close()
				}
			}
			stopped <- struct{}{}
		})
		if len(c.Ended) > 0 {
			t.Errorf("%v have ended", c.Ended)
		}
		return len(stopped) > 0
	})
}

// TestRefreshBegins has a node tell processes before the origin of their times.
func TestRefreshBegins(t *testing.T) {
	f, source := startSource(t, map[wire.PID]string{50: "70 40 40 0 -1"})
	f.silent = true
	asked := make(chan struct{}, 100)
	f.set(0, 1, func(c *fakemaster.Conn) {
		part(c, 50)
		asked <- struct{}{}
	})
	until(t, source, "the lie, twice", func(c procfs.Changes) bool {
		if len(c.Changed) > 0 {
			t.Errorf("got %v", c.Changed)
		}
		return len(asked) > 1
	})
}

// TestRefreshPlacesAll has only the process that is told last reveal the terminal of a session.
func TestRefreshPlacesAll(t *testing.T) {
	f, source := startSource(t, map[wire.PID]string{51: "70 40 40 34816 40"})
	taken := make(chan struct{}, 2)
	f.set(0, 2, func(c *fakemaster.Conn) {
		first := changedTexts(50)
		first.Procs[0].Parent = 60
		c.Send(first)
		await(t, taken)
		part(c, 51)
		await(t, taken)
		c.Send(new(wire.Refreshed))
	})
	got := map[wire.PID]string{}
	err := source.Refresh(t.Context(), false, func(c procfs.Changes) {
		for _, p := range c.Changed {
			got[p.PID] = string(p.Stat)
		}
		select {
		case taken <- struct{}{}:
		default:
		}
	})
	if want := string(stat(50, "60 40 40 34816 40")); err != nil || got[50] != want {
		t.Errorf("got %q, %v, want %q", got[50], err, want)
	}
}

// TestRefreshWaitsForMore has a node tell more than one Refresh has time for. The next one waits
// for the rest.
func TestRefreshWaitsForMore(t *testing.T) {
	f, source := startSource(t, map[wire.PID]string{50: "70 40 40 0 -1", 51: "70 40 40 0 -1", 52: "70 40 40 0 -1"})
	asked := make(chan struct{}, 100)
	next, taken := make(chan struct{}), make(chan struct{}, 100)
	f.set(0, 2, func(c *fakemaster.Conn) {
		asked <- struct{}{}
		part(c, 50)
		await(t, next)
		part(c, 51)
		await(t, taken)
		part(c, 52)
		c.Send(new(wire.Refreshed))
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := source.Refresh(ctx, false, func(c procfs.Changes) {
		if changed(50, stat(50, "70 40 40 0 -1"))(c) {
			cancel()
		}
	})
	if err != nil || ctx.Err() == nil {
		t.Fatalf("the first part is not told: %v", err)
	}
	f.mu.Lock()
	f.listed = func() { close(next) }
	f.mu.Unlock()
	var got []wire.PID
	err = source.Refresh(t.Context(), false, func(c procfs.Changes) {
		for _, p := range c.Changed {
			got = append(got, p.PID)
		}
		if slices.Contains(got, 51) {
			taken <- struct{}{}
		}
	})
	if err != nil || !slices.Contains(got, 52) || len(asked) != 1 {
		t.Errorf("got %v, %v, asked %d times", got, err, len(asked))
	}
}
