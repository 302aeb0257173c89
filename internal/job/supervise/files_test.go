package supervise

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"bproc/internal/client"
	"bproc/internal/job/life"
)

// TestStopWhileFilesAreRead checks that a stop does not wait for files that take hours.
func TestStopWhileFilesAreRead(t *testing.T) {
	s := withoutMaster(t, t.TempDir())
	if err := os.MkdirAll(s.Spec.JobDir(), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(s.Spec.JobDir(), "large"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(1 << 42); err != nil {
		t.Fatal(err)
	}
	files, result := s.files(t.Context()), make(chan error, 1)
	go func() {
		_, err := s.executeWithFiles(t.Context(), files, 0, s.Spec, func(client.PID) {})
		result <- err
	}()
	s.changed(life.Changed{Name: "stop", From: life.Starting, To: life.Stopping, Run: 1, At: time.Now()})
	if err := <-result; !errors.Is(err, errStopped) {
		t.Errorf("got %v", err)
	}
}

// TestFilesOfRuns checks that the context of a run is not kept in the next one.
func TestFilesOfRuns(t *testing.T) {
	s := withoutMaster(t, t.TempDir())
	former := s.files(t.Context())
	files := s.files(t.Context())
	if former.Err() == nil || files.Err() != nil {
		t.Errorf("got %v, then %v", former.Err(), files.Err())
	}
}
