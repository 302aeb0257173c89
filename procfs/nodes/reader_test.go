package nodes_test

import (
	"context"
	"errors"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"bproc/procfs"
	"bproc/wire"
)

// TestFetchForTheReader reads files of a process for users of the view, and for none.
func TestFetchForTheReader(t *testing.T) {
	f, source := startSource(t, map[wire.PID]string{50: "70 40 40 0 -1"})
	f.set(0, 1, tells(50))
	until(t, source, "a process", changed(50, stat(50, "70 40 40 0 -1")))
	of := &procfs.Process{PID: 50, Node: 0, Start: 300}
	for _, tc := range []struct {
		name string
		ctx  context.Context
		want *wire.Asker
	}{
		{"a user", &fuse.Context{Caller: fuse.Caller{Owner: fuse.Owner{Uid: 1000, Gid: 100}}}, &wire.Asker{UID: 1000, GID: 100}},
		{"root", &fuse.Context{}, &wire.Asker{}},
		{"the view", t.Context(), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f.mu.Lock()
			f.inspected = nil
			f.mu.Unlock()
			_, err := source.Read(tc.ctx, of, "maps")
			_, linkErr := source.Link(tc.ctx, of, "exe")
			_, listErr := source.List(tc.ctx, of, "fd")
			_, nodeErr := source.ReadNode(tc.ctx, 0, "meminfo")
			if err := errors.Join(err, linkErr, listErr, nodeErr); err != nil {
				t.Fatal(err)
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			if len(f.inspected) != 4 {
				t.Errorf("the master is asked %d times", len(f.inspected))
			}
			for _, m := range f.inspected {
				if (m.For == nil) != (tc.want == nil) || m.For != nil && (m.For.UID != tc.want.UID || m.For.GID != tc.want.GID) {
					t.Errorf("%s is read for %+v, want %+v", m.Path, m.For, tc.want)
				}
			}
		})
	}
}

// TestFetchOfAnother reads files of a process whose number has passed to another process, on its
// node or elsewhere.
func TestFetchOfAnother(t *testing.T) {
	f, source := startSource(t, map[wire.PID]string{50: "70 40 40 0 -1"})
	f.set(0, 1, tells(50))
	until(t, source, "a process", changed(50, stat(50, "70 40 40 0 -1")))
	for _, of := range []procfs.Process{{PID: 50, Node: 0, Start: 299}, {PID: 50, Node: 1, Start: 300}, {PID: 51, Node: 0, Start: 300}} {
		if text, err := source.Read(t.Context(), &of, "maps"); !errors.Is(err, unix.ESRCH) {
			t.Errorf("%+v: got %q, %v, want ESRCH", of, text, err)
		}
	}
}
