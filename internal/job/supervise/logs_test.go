package supervise

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"bproc/internal/client"
	"bproc/internal/fakemaster"
	"bproc/internal/job/spec"
	"bproc/wire"
)

// talks is a program that says some text, and then ends. What is left of it is cleared.
func talks(pieces []string) fakemaster.Handler {
	return func(c *fakemaster.Conn, m wire.Message) {
		r, first := m.(*wire.Run)
		if !first {
			c.Resumed(0)
			return
		}
		c.Started()
		if r.Ends {
			_ = c.Output(wire.TypeStdout, "{}")
			c.End(0)
			return
		}
		_ = c.Output(wire.TypeStderr, spec.Ready)
		for _, text := range pieces {
			if c.Output(wire.TypeStdout, text) != nil {
				return
			}
		}
		c.EndGhost(0)
		c.End(0)
	}
}

// TestReaders runs a process in the foreground whose output is read slowly, or not at all. It is
// asked to end.
func TestReaders(t *testing.T) {
	var pieces []string
	for i := range 25 {
		pieces = append(pieces, strings.Repeat(string(rune('a'+i)), 4<<10))
	}
	all := strings.Join(pieces, "")
	for _, stalled := range []bool{false, true} {
		s := withMaster(t, talks(pieces))
		r, w := io.Pipe()
		defer func() { _ = r.Close() }() // for a writer that waits
		s.Foreground, s.Stdout = true, w
		var err error
		if s.logs, err = openLogs(s); err != nil {
			t.Fatal(err)
		}
		defer s.logs.close()
		files := s.files(t.Context())
		began := time.Now()
		ended := make(chan error, 1)
		go func() {
			_, err := s.execute(t.Context(), files, 0, s.Spec, func(client.PID) {})
			w.Close()
			ended <- err
		}()
		if stalled {
			if _, err := r.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			s.giveUp(errStopped)
		} else {
			var got strings.Builder
			for b := make([]byte, 4<<10); err == nil; time.Sleep((unreadDelay + time.Second) / 25) {
				var n int
				n, err = r.Read(b)
				got.Write(b[:n])
			}
			if got.String() != all {
				t.Errorf("read %d bytes, want %d", got.Len(), len(all))
			}
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(unreadDelay + 10*time.Second):
			t.Fatal("it waits for its reader")
		}
		if took := time.Since(began); stalled && took < unreadDelay {
			t.Errorf("its reader had %v", took)
		}
		if log, err := os.ReadFile(s.Place.Output("stdout")); err != nil || string(log) != all {
			t.Errorf("the log has %d bytes, want %d; %v", len(log), len(all), err)
		}
		if err := s.logs.err(); err != nil {
			t.Error(err)
		}
	}
}
