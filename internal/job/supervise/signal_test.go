package supervise

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/client"
	"bproc/internal/job/file"
	"bproc/internal/job/life"
	"bproc/internal/job/place"
	"bproc/internal/job/spec"
)

// withoutMaster returns a supervisor that has begun, and whose master is away.
func withoutMaster(t *testing.T, root string) *Supervisor {
	t.Helper()
	s := &Supervisor{
		Client: &client.Client{Socket: "/nonexistent"}, Place: place.Process{Job: place.Job{Root: root, Name: "web"}, Process: "web"},
		Process: file.Process{Name: "web", Restart: life.Rule{When: life.No}}, Nodes: "0", Spec: spec.Spec{Root: root, Job: "web", Process: "web"},
	}
	s.logs = &logs{unread: make(chan struct{})}
	s.begin(place.Record{})
	return s
}

// TestSignalWithoutMaster checks that a signal is repeated until the next one, or the end of the
// run.
func TestSignalWithoutMaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := withoutMaster(t, t.TempDir())
		s.send(t.Context(), int(unix.SIGTERM))
		term := s.sender
		time.Sleep(time.Minute)
		if s.send(t.Context(), int(unix.SIGTERM)); s.sender != term || term.idle() {
			t.Error("SIGTERM was given up")
		}
		s.send(t.Context(), int(unix.SIGKILL))
		time.Sleep(time.Minute)
		if !term.idle() || s.sender.idle() {
			t.Errorf("after SIGKILL: SIGTERM has ended: %v, SIGKILL: %v", term.idle(), s.sender.idle())
		}
		s.sender.stop()
		if s.tasks.Wait(); s.logs.err() == nil {
			t.Error("no error is recorded")
		}
	})
}

// TestStopWhileNothingAnswers checks that a stop does not wait for a start that waits for the master,
// because something of the run before may be left.
func TestStopWhileNothingAnswers(t *testing.T) {
	former := place.Record{Left: true}
	for name, start := range map[string]func(s *Supervisor, ctx, files context.Context) told{
		"launch": func(s *Supervisor, ctx, files context.Context) told { return s.launch(ctx, files, 1, former, false) },
		"hook":   func(s *Supervisor, ctx, files context.Context) told { return s.runHook(ctx, files, 1, former) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := withoutMaster(t, t.TempDir())
				files, result := s.files(t.Context()), make(chan told, 1)
				go func() { result <- start(s, t.Context(), files) }()
				time.Sleep(2 * tryAgain)
				s.changed(life.Changed{Name: "stop", From: life.Starting, To: life.Stopping, Run: 1, At: time.Now()})
				synctest.Wait()
				select {
				case got := <-result:
					if got.reason != errStopped.Error() {
						t.Errorf("got %+v", got)
					}
				default:
					t.Error("it still waits")
					<-result
				}
			})
		})
	}
}

func TestRepeat(t *testing.T) {
	errAway := errors.New("away")
	for _, tt := range []struct {
		name  string
		fails int
		took  time.Duration
		want  error
	}{
		{"at once", 0, 0, nil},
		{"after three failures", 3, 3 * tryAgain, nil},
		{"never", 100, 10*time.Second + tryAgain/2, errAway},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second+tryAgain/2)
			defer cancel()
			began, tries := time.Now(), 0
			err := repeat(ctx, func() error {
				if tries++; tries <= tt.fails {
					return errAway
				}
				return nil
			})
			if took := time.Since(began); err != tt.want || took != tt.took { //nolint:errorlint // the error itself
				t.Errorf("%s: got %v after %v", tt.name, err, took)
			}
		})
	}
}
