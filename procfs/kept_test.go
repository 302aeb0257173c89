package procfs

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// large is a file or directory on a node that takes much memory.
type large struct {
	origin
	reads int
}

func (l *large) read(context.Context, string) ([]byte, error) {
	l.reads++
	return make([]byte, maxKept/8), nil
}

func (l *large) list(context.Context, string) ([]Entry, error) {
	l.reads++
	return make([]Entry, maxKept/8/104), nil
}

// asker returns the context of a request of a user.
func asker(uid uint32) context.Context {
	return &fuse.Context{Caller: fuse.Caller{Owner: fuse.Owner{Uid: uid}}}
}

// TestFetchedIsBounded has a user read files of nodes and keep them open. Others still can read some,
// and so can the user after a while.
func TestFetchedIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := New(Config{}, &cluster{}, slog.New(slog.DiscardHandler))
		from := new(large)
		open := func(uid uint32) unix.Errno {
			f := &fetchedFile{view: v, from: from, path: "smaps"}
			return f.load(asker(uid)).errno
		}
		many := func(uid uint32) (n int) {
			for open(uid) == 0 {
				n++
			}
			return n
		}
		first := &fetchedFile{view: v, from: from, path: "smaps"}
		if got := first.load(asker(1000)); got.errno != 0 {
			t.Fatal(got.errno)
		}
		if n := many(1000); n != 3 {
			t.Errorf("a user has %d more files kept, want 3", n)
		}
		if errno := open(1000); errno != unix.ENFILE {
			t.Errorf("got %v, want %v", errno, unix.ENFILE)
		}
		for range 20 { // it can go on with files that it does not keep
			f := &fetchedFile{view: v, from: from, path: "smaps"}
			if got := f.load(asker(1002)); got.errno != 0 {
				t.Fatal(got.errno)
			}
			n := v.table.add(f)
			v.table.forget(n.id, 1)
		}
		if n := many(1001); n != 2 {
			t.Errorf("another user has %d files kept, want 2", n)
		}
		d := &fetchedDir{view: v, from: from, path: "fd"}
		if l := d.load(asker(1000)); l.errno != unix.ENFILE {
			t.Errorf("a directory: got %v, want %v", l.errno, unix.ENFILE)
		}
		time.Sleep(fetchFor + time.Second)
		if n := many(1001); n != 4 {
			t.Errorf("after a while a user has %d files kept, want 4", n)
		}
		before := from.reads
		if got := first.load(asker(1000)); got.errno != 0 || from.reads != before+1 {
			t.Errorf("a file that is still open: %v, read %d times more", got.errno, from.reads-before)
		}
	})
}
