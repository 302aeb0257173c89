package supervise

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/job/life"
	"bproc/internal/job/place"
)

// fullDisk returns the root of jobs on a disk, and a function that fills it. The process of the
// supervisor was stopped.
func fullDisk(t *testing.T) (s *Supervisor, fill func() (filler string)) {
	t.Helper()
	root := t.TempDir()
	if err := unix.Mount("full", root, "tmpfs", 0, "size=64k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(root, unix.MNT_DETACH) })
	s = withoutMaster(t, root)
	lock, err := s.Place.Supervise()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Close() })
	if err := s.Place.Write(place.Record{Record: life.Record{State: life.Stopped, Run: 1}}); err != nil {
		t.Fatal(err)
	}
	return s, func() string {
		f, err := os.Create(filepath.Join(root, "filler"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := io.Copy(f, bytes.NewReader(make([]byte, 1<<20))); !errors.Is(err, unix.ENOSPC) {
			t.Fatalf("the disk is not full: %v", err)
		}
		return f.Name()
	}
}

// TestNothingBeginsOnAFullDisk checks that there is no run that the record does not tell.
func TestNothingBeginsOnAFullDisk(t *testing.T) {
	s, fill := fullDisk(t)
	fill()
	s.Changed = func(r place.Record) { t.Errorf("%v, run %d", r.State, r.Run) }
	if _, err := s.Run(t.Context(), nil); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("got %v", err)
	}
	if r, err := s.Place.Former(); err != nil || r.Run != 1 || r.State != life.Stopped {
		t.Errorf("record: got %+v, %v", r, err)
	}
}

// TestRecordAfterAFullDisk checks that a record is stored when there is room again.
func TestRecordAfterAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, fill := fullDisk(t)
		filler := fill()
		s.record.Record = life.Record{State: life.Running, Run: 2}
		s.keep()
		for range 3 {
			<-s.unsaved
			s.keep()
		}
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		<-s.unsaved
		s.keep()
		if r, err := s.Place.Read(); err != nil || r.Run != 2 || s.unsaved != nil || time.Since(began) != tryAgain {
			t.Errorf("got %+v, %v after %v", r, err, time.Since(began))
		}
	})
}

// TestForeground checks that a process in the foreground has its number in the record, by which
// others find it, and has no PID file.
func TestForeground(t *testing.T) {
	for _, foreground := range []bool{true, false} {
		s := withoutMaster(t, t.TempDir())
		s.Foreground = foreground
		s.begin(place.Record{})
		lock, err := s.Place.Supervise()
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Close()
		s.record.Record, s.record.PID = life.Record{State: life.Running, Run: 1}, 4711
		s.keep()
		if r, err := s.Place.Read(); err != nil || r.PID != 4711 {
			t.Errorf("foreground %v: got %+v, %v", foreground, r, err)
		}
		if _, err := os.Stat(s.Place.PIDFile()); errors.Is(err, os.ErrNotExist) != foreground {
			t.Errorf("foreground %v: PID file: %v", foreground, err)
		}
	}
}
