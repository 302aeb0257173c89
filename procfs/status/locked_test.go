package status_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/procfs/status"
	"bproc/test/limit"
	"bproc/wire"
)

// fakeProc is a directory in place of a procfs. A FIFO in it blocks a reader, as a locked memory does.
type fakeProc struct {
	tb   testing.TB
	dir  string
	pids []wire.PID
}

// Marks implements [status.Marker].
func (f *fakeProc) Marks(yield func(status.Mark)) error {
	for _, pid := range f.pids {
		yield(status.Mark{PID: pid, TID: pid, Start: 1, Value: 1, Groups: 1})
	}
	return nil
}

// Close implements [status.Marker].
func (f *fakeProc) Close() error { return nil }

func newFakeProc(t *testing.T) (*fakeProc, *status.Collector) {
	t.Helper()
	f := &fakeProc{tb: t, dir: t.TempDir()}
	proc, err := os.Open(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proc.Close() })
	c := status.New(status.Config{
		Proc: proc, Marker: f, Log: slog.New(slog.DiscardHandler), Parent: func(wire.PID) wire.PID { return 0 },
	})
	c.SetPatience(20 * time.Millisecond)
	return f, c
}

func (f *fakeProc) path(pid wire.PID, name string) string {
	return filepath.Join(f.dir, pid.String(), name)
}

// add adds a process, whose cmdline and environ are their own names.
func (f *fakeProc) add(pid wire.PID, uid int) {
	f.tb.Helper()
	if err := os.Mkdir(f.path(pid, ""), 0o755); err != nil {
		f.tb.Fatal(err)
	}
	stat := fmt.Sprintf("%d (a) S 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1\n", pid)
	for name, text := range map[string]string{"stat": stat, "status": "Name:\ta\n", "statm": "0\n", "cgroup": "0::/\n", "cmdline": "cmdline", "environ": "environ"} {
		if err := errors.Join(os.WriteFile(f.path(pid, name), []byte(text), 0o644), os.Chown(f.path(pid, name), uid, 0)); err != nil {
			f.tb.Fatal(err)
		}
	}
	f.pids = append(f.pids, pid)
}

// lock makes the readers of a file wait. The result frees them, after which the file is as before.
func (f *fakeProc) lock(pid wire.PID, name string) (unlock func()) {
	f.tb.Helper()
	path, fifo := f.path(pid, name), f.path(pid, name+" locked")
	if err := unix.Mkfifo(fifo, 0o644); err != nil {
		f.tb.Fatal(err)
	}
	if err := unix.Renameat2(unix.AT_FDCWD, fifo, unix.AT_FDCWD, path, unix.RENAME_EXCHANGE); err != nil {
		f.tb.Fatal(err)
	}
	unlocked := false
	unlock = func() {
		if unlocked {
			return
		}
		unlocked = true
		if err := unix.Renameat2(unix.AT_FDCWD, fifo, unix.AT_FDCWD, path, unix.RENAME_EXCHANGE); err != nil {
			f.tb.Error(err)
		}
		for f.awaited(pid, name+" locked") { // the open below completes that of the readers
			writer, err := unix.Open(fifo, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
			if err == nil {
				unix.Close(writer)
			}
			time.Sleep(time.Millisecond)
		}
	}
	f.tb.Cleanup(unlock)
	return unlock
}

// awaited reports whether somebody waits for the content of a locked file.
func (f *fakeProc) awaited(pid wire.PID, name string) bool {
	writer, err := unix.Open(f.path(pid, name), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err == nil {
		unix.Close(writer)
	}
	return err == nil
}

// shown are the latest reports that a View has told.
type shown struct {
	procs    map[wire.PID]wire.Texts
	environs environs
}

// refresh applies what a View tells, within some time.
func (s *shown) refresh(t *testing.T, c *status.Collector, v *status.View) {
	t.Helper()
	c.Forget()
	done := make(chan error, 1)
	go func() {
		done <- v.Refresh(false, func(m *wire.Changed) error {
			s.environs.take(t, m)
			for _, p := range m.Procs {
				s.procs[p.PID] = p
			}
			return nil
		})
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(limit.Scaled(20 * time.Second)):
		t.Fatal("a look at all processes does not end")
	}
}

func (s *shown) check(pid wire.PID, cmdline, environ string) error {
	p, has := s.procs[pid]
	if !has || string(p.Cmdline) != cmdline || p.Cmdline == nil {
		return fmt.Errorf("process %d: told %v, cmdline %q, want %q", pid, has, p.Cmdline, cmdline)
	}
	if text, has := s.environs[pid]; !has || string(text) != environ {
		return fmt.Errorf("process %d: told %v, environ %q, want %q", pid, has, text, environ)
	}
	return nil
}

// TestViewTellsDespiteLocked has processes whose memory is locked. They hold up no others, are told
// without the texts that need their memory, and with them when it is free.
func TestViewTellsDespiteLocked(t *testing.T) {
	f, c := newFakeProc(t)
	for pid := range wire.PID(5) {
		f.add(10+pid, 0)
	}
	free := []func(){f.lock(11, "cmdline"), f.lock(13, "environ")}
	views := []*status.View{c.View(true), c.View(true)}
	all := []*shown{{map[wire.PID]wire.Texts{}, environs{}}, {map[wire.PID]wire.Texts{}, environs{}}}
	for i, v := range views {
		all[i].refresh(t, c, v)
		for pid, want := range map[wire.PID][]string{10: {"cmdline", "environ"}, 11: {"", ""}, 12: {"cmdline", "environ"}, 14: {"cmdline", "environ"}} {
			if err := all[i].check(pid, want[0], want[1]); err != nil {
				t.Error(err)
			}
		}
	}
	if text, has := all[0].environs[13]; !has || len(text) > 0 {
		t.Errorf("locked: told %v, environ %q", has, text)
	}
	for pid, want := range map[wire.PID]unix.Errno{10: 0, 11: unix.EAGAIN} {
		if got := fetch(t, c, wire.Fetch{PID: pid, Kind: wire.FetchFile, Path: "environ"}); got.errno != want {
			t.Errorf("environ of process %d: errno %d, want %d", pid, got.errno, want)
		}
	}
	clear(all[0].procs)
	if all[0].refresh(t, c, views[0]); len(all[0].procs) > 0 {
		t.Errorf("told again: %+v", all[0].procs)
	}
	for _, unlock := range free {
		unlock()
	}
	for i, v := range views {
		eventually(t, func() error {
			all[i].refresh(t, c, v)
			return errors.Join(all[i].check(11, "cmdline", "environ"), all[i].check(13, "cmdline", "environ"))
		})
	}
}

// TestLockedIsBounded has a user with more locked processes than may be waited for. Those of
// another user are told.
func TestLockedIsBounded(t *testing.T) {
	f, c := newFakeProc(t)
	const user, other = 1000, 1001
	locked := wire.PID(status.MaxLeftOfUser + 5)
	for pid := range locked {
		f.add(10+pid, user)
		f.lock(10+pid, "cmdline")
		if pid%2 == 0 { // whose files are root's
			if err := errors.Join(os.Chown(f.path(10+pid, "stat"), 0, 0), os.WriteFile(f.path(10+pid, "status"), fmt.Appendf(nil, "Name:\ta\nUid:\t%d\t0\t0\t0\n", user), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
	f.add(10+locked, other)
	s := &shown{map[wire.PID]wire.Texts{}, environs{}}
	s.refresh(t, c, c.View(true))
	if err := s.check(10+locked, "cmdline", "environ"); err != nil {
		t.Error(err)
	}
	awaited := slices.DeleteFunc(slices.Clone(f.pids), func(pid wire.PID) bool { return pid == 10+locked || !f.awaited(pid, "cmdline") })
	if len(awaited) != status.MaxLeftOfUser {
		t.Errorf("processes %v are waited for, want %d", awaited, status.MaxLeftOfUser)
	}
}
