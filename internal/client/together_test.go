package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/client"
	"bproc/internal/fakemaster"
	"bproc/test/limit"
	"bproc/wire"
)

// seen is a fake master that runs commands which end at once with their node as exit code, and notes what it is asked.
type seen struct {
	*fakemaster.Master
	mu       sync.Mutex
	runs     []*wire.Run // by Run
	together []int       // processes in each RunMany
	envs     map[wire.NodeID][]string
}

func newSeen(t *testing.T) *seen {
	s := &seen{envs: map[wire.NodeID][]string{}}
	s.Master = fakemaster.Start(t, func(c *fakemaster.Conn, m wire.Message) {
		run := m.(*wire.Run)
		s.mu.Lock()
		s.runs, s.envs[run.Node] = append(s.runs, run), run.Command.Env
		s.mu.Unlock()
		c.Started()
		c.End(wire.ExitStatus(int(run.Node)))
	})
	return s
}

// seenNodes are the nodes on which start starts a command.
const seenNodes = 20

// start starts a command on many nodes at the same time, waits for all, and checks how they end.
func (s *seen) start(ctx context.Context, t *testing.T, change func(int, *client.Cmd)) []error {
	t.Helper()
	errs := make([]error, seenNodes)
	var group sync.WaitGroup
	for i := range seenNodes {
		cmd := s.Client.Command(client.NodeID(i), "prog")
		cmd.Env = []string{"A=1", "B=2", fmt.Sprint("RANK=", i)}
		if change != nil {
			change(i, cmd)
		}
		group.Go(func() {
			status, err := run(ctx, cmd)
			if errs[i] = err; err == nil && status != wire.ExitStatus(i) {
				errs[i] = fmt.Errorf("status %#x", uint32(status))
			}
		})
	}
	group.Wait()
	return errs
}

func allStarted(t *testing.T, errs []error) {
	t.Helper()
	for i, err := range errs {
		if err != nil {
			t.Errorf("node %d: %v", i, err)
		}
	}
}

// counts notes requests for many processes, and answers them as if nothing noted them.
func (s *seen) counts(then func(c *fakemaster.Conn, m *wire.RunMany)) {
	s.Many = func(c *fakemaster.Conn, m *wire.RunMany) {
		s.mu.Lock()
		s.together = append(s.together, len(m.Runs))
		s.mu.Unlock()
		then(c, m)
	}
}

// startTogether starts commands until some of them have been asked for together: where each start is over before the next
// begins, as on one busy processor, each asks by itself.
func (s *seen) startTogether(t *testing.T) []error {
	t.Helper()
	for range 20 {
		errs := s.start(t.Context(), t, nil)
		if len(s.asked()) > 0 {
			return errs
		}
		allStarted(t, errs)
	}
	t.Fatal("nothing was asked for together")
	return nil
}

// asked returns the numbers of processes in requests for many.
func (s *seen) asked() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.together)
}

// TestTogether starts a command on many nodes, and has each of them get what is its own.
func TestTogether(t *testing.T) {
	s := newSeen(t)
	allStarted(t, s.start(t.Context(), t, nil))
	for i, env := range s.envs {
		if want := []string{"A=1", "B=2", fmt.Sprint("RANK=", i)}; !slices.Equal(env, want) {
			t.Errorf("node %d: got %q, want %q", i, env, want)
		}
	}
	s.counts(func(c *fakemaster.Conn, m *wire.RunMany) { c.Many(m, len(m.Runs)) })
	allStarted(t, s.startTogether(t))
	for _, n := range s.asked() {
		if n < 2 || n > wire.MaxRuns {
			t.Errorf("%d processes in a request", n)
		}
	}
}

// TestNotTogether has a master that takes no such request, or no more than two processes of it, or ends, and commands
// that are not alike: each start goes on by itself.
func TestNotTogether(t *testing.T) {
	fails := func(c *fakemaster.Conn, m wire.Message) { c.Send(m) }
	for name, many := range map[string]func(*fakemaster.Conn, *wire.RunMany){
		"unknown": func(c *fakemaster.Conn, _ *wire.RunMany) { fails(c, &wire.Refused{Reason: "what?"}) },
		"failed": func(c *fakemaster.Conn, _ *wire.RunMany) {
			fails(c, &wire.Failed{Stage: wire.StageRequest, Errno: uint32(unix.EAGAIN)})
		},
		"for two":  func(c *fakemaster.Conn, m *wire.RunMany) { c.Many(m, 2) },
		"for none": func(c *fakemaster.Conn, m *wire.RunMany) { c.Many(m, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSeen(t)
			s.counts(many)
			allStarted(t, s.startTogether(t))
			for _, run := range s.runs {
				if run.Again {
					t.Errorf("node %d: it was asked for again", run.Node)
				}
			}
		})
	}
	t.Run("ended", func(t *testing.T) {
		s := newSeen(t)
		s.counts(func(*fakemaster.Conn, *wire.RunMany) {})
		allStarted(t, s.startTogether(t))
		again := 0
		for _, run := range s.runs {
			if run.Again {
				again++
			}
		}
		sum := 0
		for _, n := range s.asked() {
			sum += n
		}
		if again != sum {
			t.Errorf("%d processes were asked for again, of %d", again, sum)
		}
	})
	t.Run("unlike", func(t *testing.T) {
		s := newSeen(t)
		s.counts(func(c *fakemaster.Conn, m *wire.RunMany) { c.Many(m, len(m.Runs)) })
		allStarted(t, s.start(t.Context(), t, func(i int, c *client.Cmd) { c.Args = append(c.Args, fmt.Sprint(i)) }))
		if asked := s.asked(); len(asked) > 0 {
			t.Errorf("requests for %d processes", asked)
		}
	})
	t.Run("long", func(t *testing.T) {
		s := newSeen(t)
		s.counts(func(c *fakemaster.Conn, m *wire.RunMany) { c.Many(m, len(m.Runs)) })
		long := string(make([]byte, wire.MaxData))
		allStarted(t, s.start(t.Context(), t, func(_ int, c *client.Cmd) { c.Env = []string{"LONG=" + long} }))
		if asked := s.asked(); len(asked) > 0 {
			t.Errorf("requests for %d processes", asked)
		}
	})
}

// TestTogetherWithoutRoom has a kernel that leaves out a descriptor: the last process of each request does not start.
func TestTogetherWithoutRoom(t *testing.T) {
	s := newSeen(t)
	s.counts(func(c *fakemaster.Conn, m *wire.RunMany) { c.ManyBut(m) })
	failed := 0
	for i, err := range s.startTogether(t) {
		switch {
		case errors.Is(err, unix.EMFILE):
			failed++
		case err != nil:
			t.Errorf("node %d: %v", i, err)
		}
	}
	if asked := s.asked(); failed != len(asked) {
		t.Errorf("%d starts of %d have failed", failed, asked)
	}
}

// TestTogetherIsGivenUp ends starts whose master does not answer: it sees the ends of their connections.
func TestTogetherIsGivenUp(t *testing.T) {
	for range 20 {
		if together := giveUp(t); together {
			return
		}
	}
	t.Fatal("nothing was asked for together")
}

// giveUp ends starts once some are asked for together, or each by itself.
func giveUp(t *testing.T) (together bool) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	silent := func(c *fakemaster.Conn) { _, _ = c.Next() } // until the client closes the connection
	alone := atomic.Int32{}
	s := &seen{Master: fakemaster.Start(t, func(c *fakemaster.Conn, _ wire.Message) {
		if alone.Add(1) == seenNodes {
			cancel(why)
		}
		silent(c)
	})}
	closed := make(chan struct{}, seenNodes)
	s.counts(func(c *fakemaster.Conn, _ *wire.RunMany) {
		cancel(why)
		silent(c)
		closed <- struct{}{}
	})
	for i, err := range s.start(ctx, t, nil) {
		if !errors.Is(err, why) {
			t.Errorf("node %d: %v", i, err)
		}
	}
	for range s.asked() {
		select {
		case <-closed:
		case <-time.After(limit.Scaled(10 * time.Second)):
			t.Fatal("the client still waits for an answer")
		}
	}
	return len(s.asked()) > 0
}

// TestTogetherWithoutMaster starts commands while the socket is that of a master which has ended: each fails when a single
// one would.
func TestTogetherWithoutMaster(t *testing.T) {
	s := newSeen(t)
	path := t.TempDir() + "/gone.sock"
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	s.Client.Socket = path
	began := time.Now()
	for i, err := range s.start(t.Context(), t, nil) {
		if !errors.Is(err, client.ErrNoMaster) {
			t.Errorf("node %d: %v", i, err)
		}
	}
	if took := time.Since(began); took > limit.Scaled(20*time.Second) {
		t.Errorf("it took %v", took)
	}
}
