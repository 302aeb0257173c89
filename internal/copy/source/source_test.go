package source

import (
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/copy/stream"
)

// TestInodeNumberOfAnother: a new file that has got the inode number of one that was sent is no link to
// that one.
func TestInodeNumberOfAnother(t *testing.T) {
	w := &walk{links: map[Identity]sent{}}
	link := func(st unix.Stat_t) stream.Entry {
		e := stream.Entry{Kind: stream.File, Dev: 1, Ino: 2}
		w.linked(&e, &st)
		return e
	}
	first := unix.Stat_t{Nlink: 2, Size: 5, Mtim: unix.Timespec{Sec: 7}}
	if e := link(first); e.Kind != stream.File || e.Link != 1 {
		t.Errorf("the first: got %+v", e)
	}
	if e := link(first); e.Kind != stream.HardLink || e.Link != 1 {
		t.Errorf("another name: got %+v", e)
	}
	alone, larger, later := first, first, first
	alone.Nlink, larger.Size, later.Mtim.Nsec = 1, 6, 1
	for _, st := range []unix.Stat_t{alone, larger, later} {
		if e := link(st); e.Kind != stream.File || e.Link == 1 {
			t.Errorf("another file: got %+v", e)
		}
	}
}

// TestLease copies a file on which somebody has a lease.
func TestLease(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, unix.SIGIO)
	defer signal.Stop(broken)
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		t.Fatal(err)
	}
	returned := make(chan error, 1)
	go func() {
		<-broken
		_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
		returned <- err
	}()
	s := &Source{Paths: []string{name}, Names: []string{"file"}, Problem: func(path string, err error) { t.Errorf("%s: %v", path, err) }}
	if err := s.Send(t.Context(), stream.NewWriter(io.Discard)); err != nil {
		t.Error(err)
	}
	select {
	case err := <-returned:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("nobody has asked for the lease")
	}
}
