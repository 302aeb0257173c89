package supervise

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/client"
	"bproc/internal/fakemaster"
	"bproc/internal/job/life"
	"bproc/internal/job/place"
	"bproc/internal/job/spec"
	"bproc/wire"
)

func TestMain(m *testing.M) { fakemaster.Main(m) }

// withMaster returns a supervisor whose master carries out all requests alike.
func withMaster(t *testing.T, handle fakemaster.Handler) *Supervisor {
	t.Helper()
	s := withoutMaster(t, t.TempDir())
	s.Client, s.Jailer = &fakemaster.Start(t, handle).Client, "/bpjail"
	return s
}

// hangs is a program that says nothing until it is killed. It reports that it has started.
func hangs(c *fakemaster.Conn, m wire.Message, started chan<- struct{}) {
	if _, first := m.(*wire.Run); first {
		c.Started()
		c.EndOutputs() // with a real master: when it is killed
		started <- struct{}{}
		c.Gone()
	} else {
		c.Resumed(0)
	}
}

// TestAskEnds ends a context while bpjail runs on a node.
func TestAskEnds(t *testing.T) {
	started := make(chan struct{}, 1)
	s := withMaster(t, func(c *fakemaster.Conn, m wire.Message) { hangs(c, m, started) })
	reason := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-started
		cancel(reason)
	}()
	if _, err := s.ask(ctx, 0, s.spec(spec.Clear)); !errors.Is(err, reason) {
		t.Errorf("got %v", err)
	}
}

// TestAnswerIsBounded has a node talk without end.
func TestAnswerIsBounded(t *testing.T) {
	for what, stream := range map[string]wire.Type{"answer": wire.TypeStdout, "error": wire.TypeStderr} {
		s := withMaster(t, func(c *fakemaster.Conn, m wire.Message) {
			if _, first := m.(*wire.Run); !first {
				c.Resumed(0)
				return
			}
			c.Started()
			for text := strings.Repeat("x", 32<<10); stream == wire.TypeStdout; {
				if c.Output(stream, text) != nil {
					return
				}
			}
			for range 100 {
				if c.Output(stream, strings.Repeat("x", 32<<10)) != nil {
					return
				}
			}
			c.End(wire.ExitStatus(1))
		})
		_, err := s.ask(t.Context(), 0, s.spec(spec.Files))
		if err == nil || len(err.Error()) > 2*maxWhy {
			t.Errorf("%s: got %.200v", what, err)
		}
	}
}

// TestStopBeforeReady checks that a stop ends a start that hangs on its node.
func TestStopBeforeReady(t *testing.T) {
	started := make(chan struct{}, 1)
	var launched atomic.Bool
	s := withMaster(t, func(c *fakemaster.Conn, m wire.Message) {
		if _, first := m.(*wire.Run); !first || launched.CompareAndSwap(false, true) {
			hangs(c, m, started)
			return
		}
		c.Started() // it clears what is left
		_ = c.Output(wire.TypeStdout, "{}")
		c.End(0)
	})
	files := s.files(t.Context())
	go func() {
		<-started
		time.Sleep(50 * time.Millisecond) // then the start on the node has mostly ended
		s.giveUp(errStopped)
	}()
	e, err := s.execute(t.Context(), files, 0, s.Spec, func(client.PID) { t.Error("it is ready") })
	if err == nil && (e.ready || e.why != errStopped.Error()) || err != nil && !errors.Is(err, errStopped) {
		t.Errorf("got %+v, %v", e, err)
	}
}

// TestNodeLostAtStart checks that the loss of a node is not taken for a failure of the program.
func TestNodeLostAtStart(t *testing.T) {
	for _, c := range []struct {
		errno unix.Errno
		text  string
		want  life.Input
	}{
		{unix.EHOSTDOWN, "", life.NodeDown{Run: 1}},
		{unix.EHOSTDOWN, "it is drained", life.NotStarted{Run: 1, Exit: life.Exit{Code: 1}}},
		{unix.EACCES, "", life.NotStarted{Run: 1, Exit: life.Exit{Code: 1}}},
	} {
		s := withMaster(t, func(conn *fakemaster.Conn, _ wire.Message) {
			conn.Fail(wire.StageNode, uint32(c.errno), c.text, 255)
		})
		if err := os.MkdirAll(s.Spec.JobDir(), 0o755); err != nil {
			t.Fatal(err)
		}
		former := place.Record{Placed: true}
		if got := s.launch(t.Context(), s.files(t.Context()), 1, former, true); got.in != c.want || got.left {
			t.Errorf("%v %s: got %+v, %s, left %v; want %+v", c.errno, c.text, got.in, got.reason, got.left, c.want)
		}
	}
}

// TestStartBrokenOff checks that what a node may have started without an answer is not forgotten.
func TestStartBrokenOff(t *testing.T) {
	former := place.Record{Node: 3, Placed: true}
	for name, start := range map[string]func(s *Supervisor, files context.Context) told{
		"launch": func(s *Supervisor, files context.Context) told { return s.launch(t.Context(), files, 1, former, true) },
		"hook":   func(s *Supervisor, files context.Context) told { return s.runHook(t.Context(), files, 1, former) },
	} {
		t.Run(name, func(t *testing.T) {
			asked := make(chan struct{}, 1)
			s := withMaster(t, func(c *fakemaster.Conn, m wire.Message) {
				if _, is := m.(*wire.Run); !is {
					c.Send(&wire.NodeList{Nodes: []wire.Node{{ID: 0, State: "up"}}})
					return
				}
				asked <- struct{}{}
				c.Gone()
			})
			if err := os.MkdirAll(s.Spec.JobDir(), 0o755); err != nil {
				t.Fatal(err)
			}
			lock, err := s.Place.Supervise()
			if err != nil {
				t.Fatal(err)
			}
			defer lock.Close()
			files := s.files(t.Context())
			go func() {
				<-asked
				s.giveUp(errStopped)
			}()
			go func() { // as Run
				for got := range s.told {
					got.home.Close()
				}
			}()
			if got := start(s, files); !got.left || got.reason != errStopped.Error() {
				t.Errorf("got %+v", got)
			}
			close(s.told)
		})
	}
}

// TestClearAll checks that what is left of a process is ended some time, and does not make the process live forever.
func TestClearAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := withoutMaster(t, t.TempDir())
		silent, done := make(chan struct{}), make(chan error, 1)
		go func() {
			_, err := s.clearAll(t.Context(), 0, silent)
			done <- err
		}()
		time.Sleep(5 * clearTries * tryAgain)
		select {
		case err := <-done:
			t.Fatalf("it was given up: %v", err)
		default:
		}
		close(silent)
		if err := <-done; err == nil {
			t.Error("nothing was cleared, and no error says so")
		}
	})
}
