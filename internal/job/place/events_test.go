package place_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"bproc/internal/job/place"
)

// TestEventsAreBounded checks that a log is renamed by the line that makes it too large.
func TestEventsAreBounded(t *testing.T) {
	e := place.Events{Path: filepath.Join(t.TempDir(), "bpm.log"), UID: os.Getuid(), GID: os.Getgid()}
	line := append(bytes.Repeat([]byte{'x'}, place.MaxEvents/10), '\n')
	for i := range 22 {
		if err := e.Append(line); err != nil {
			t.Fatal(err)
		}
		for path, lines := range map[string]int{e.Path: (i + 1) % 10, e.Path + ".1": min((i+1)/10, 1) * 10} {
			info, err := os.Stat(path)
			if errors.Is(err, os.ErrNotExist) && lines == 0 {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if int(info.Size()) != lines*len(line) {
				t.Errorf("after %d lines %s has %d bytes, want %d lines", i+1, filepath.Base(path), info.Size(), lines)
			}
		}
	}
}

// TestEvents has several supervisors append to the log of their job: no line is lost when a new log is
// begun, and there is at most one former log. The log grows while the one that renames it gets no
// processor.
func TestEvents(t *testing.T) {
	const writers, lines = 4, 40
	e := place.Events{Path: filepath.Join(t.TempDir(), "bpm.log"), UID: os.Getuid(), GID: os.Getgid()}
	line := append(bytes.Repeat([]byte{'x'}, place.MaxEvents/writers/lines*3/2), '\n') // in all, one and a half logs
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for range lines {
				if err := e.Append(line); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	got := 0
	for _, path := range []string{e.Path + ".1", e.Path} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got += bytes.Count(text, []byte{'\n'})
	}
	if got != writers*lines {
		t.Errorf("%d lines, want %d", got, writers*lines)
	}
	if err := e.Append(nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(e.Path + ".2"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestLogIsRenamed opens a log while another supervisor renames it: it is the former one, or another.
func TestLogIsRenamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bpm.log")
	over, renamed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(renamed)
		for {
			select {
			case <-over:
				return
			default:
				_ = os.Rename(path, path+".1") // there may be none
			}
		}
	}()
	for range 2000 {
		f, err := place.OpenLog(path, os.Getuid(), os.Getgid())
		if err != nil {
			t.Error(err)
			break
		}
		f.Close()
	}
	close(over)
	<-renamed
}
