package procfs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"bproc/test/limit"
	"bproc/wire"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// showMany shows processes that are worth warming and that the kernel does not know, and returns them.
func (m *mounted) showMany() (told []Process) {
	m.Helper()
	for i, pid := range ghosts(m.T, 2*worthWarming) {
		told = append(told, remote(pid, 'S', i))
	}
	m.show(told...)
	return told
}

// TestListingWarms lists many processes that were never read. The kernel must know their files, and
// the contents, without requests for them.
func TestListingWarms(t *testing.T) {
	m := mount(t)
	told := m.showMany()
	if _, err := os.ReadDir(m.path); err != nil {
		t.Fatal(err)
	}
	wants := func(p Process) map[string][]byte {
		return map[string][]byte{"stat": p.Stat, "status": p.Status, "statm": p.Statm, "cmdline": p.Cmdline, "cgroup": p.Cgroup, "environ": p.Environ}
	}
	// A reader waits for that, but not as long as it may take on a busy machine. A kernel that is
	// short of memory drops some of its caches.
	eventually(t, func() error {
		var missing []error
		all := 0
		for _, p := range told {
			for name, want := range wants(p) {
				all++
				if err := m.keeps(want, p.PID.String(), name); err != nil {
					missing = append(missing, err)
				}
			}
		}
		if len(missing) > all/10 {
			return fmt.Errorf("%d of %d files, the first: %w", len(missing), all, missing[0])
		}
		return nil
	})
	// A file that changes after that is another file. A process that is not cold is not warmed.
	changed := remote(told[0].PID, 'R', 77)
	m.show(changed)
	for name, want := range wants(changed) {
		if got := m.read(changed.PID, name); got != string(want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if m.view.cold(told[0].PID) || m.view.cold(told[1].PID) {
		t.Error("the kernel has forgotten a process that it knew")
	}
}

// TestNoScout reads many processes of a view whose scout is dead, or that has none.
func TestNoScout(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"none": func(c *Config) { c.Scout = nil },
		"dead": func(*Config) {},
	} {
		t.Run(name, func(t *testing.T) {
			m := mount(t, change)
			if m.view.scout != nil {
				killScout(t)
			}
			told := m.showMany()
			if _, err := os.ReadDir(m.path); err != nil {
				t.Fatal(err)
			}
			for _, p := range told {
				if got := m.read(p.PID, "stat"); got != string(p.Stat) {
					t.Errorf("got %q, want %q", got, p.Stat)
				}
			}
		})
	}
}

// killScout kills the scouts that this process has started.
func killScout(t *testing.T) { signalScout(t, unix.SIGKILL) }

// signalScout sends a signal to the scouts that this process has started.
func signalScout(t *testing.T, sig unix.Signal) {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		t.Fatal(err)
	}
	sent := 0
	for _, path := range paths {
		status, err := os.ReadFile(path)
		if err != nil || !bytes.HasPrefix(status, []byte("Name:\t"+scoutName+"\n")) || !bytes.Contains(status, fmt.Appendf(nil, "PPid:\t%d\n", os.Getpid())) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil {
			err = unix.Kill(pid, sig)
		}
		if err != nil {
			t.Fatal(err)
		}
		sent++
	}
	if sent == 0 {
		t.Fatal("the view has no scout")
	}
}

// TestReaderWaits checks that a listing waits for a scout, but not for long, and that a view whose scout is
// stopped can end.
func TestReaderWaits(t *testing.T) {
	m := mount(t)
	told := m.showMany()
	signalScout(t, unix.SIGSTOP)
	begin := time.Now()
	if _, err := os.ReadDir(m.path); err != nil {
		t.Fatal(err)
	}
	if waited := time.Since(begin); waited < ahead/2 {
		t.Errorf("the reader has waited for %v only", waited)
	}
	if !m.view.cold(told[0].PID) {
		t.Error("a scout that is stopped has looked")
	}
}

// TestWarmingWhileProcessesEnd lists many unknown processes while others that the kernel knows have
// ended: the kernel is notified of these only when the listing has returned.
func TestWarmingWhileProcessesEnd(t *testing.T) {
	m := mount(t)
	var told []Process
	for i, pid := range ghosts(t, 8*worthWarming) {
		told = append(told, remote(pid, 'S', i))
	}
	old, others := told[:worthWarming/2], told[worthWarming/2:]
	m.show(old...)
	var ended []wire.PID
	for _, p := range old {
		m.read(p.PID, "stat")
		ended = append(ended, p.PID)
	}
	eventually(t, func() error {
		m.view.news.mu.Lock()
		defer m.view.news.mu.Unlock()
		if m.view.news.sending || len(m.view.news.queue) > 0 {
			return errors.New("the kernel has not heard of all changes")
		}
		return nil
	})
	m.tell(Changes{Changed: others, Ended: ended})
	m.view.rounds.reset()
	if _, err := os.ReadDir(m.path); err != nil {
		t.Fatal(err)
	}
	cold := 0
	for _, p := range others {
		if m.view.cold(p.PID) {
			cold++
		}
	}
	if cold > len(others)*3/4 { // a slow machine may need longer than the listing waits for all but a fifth
		t.Errorf("%d of %d are unknown when the listing returns", cold, len(others))
	}
}

// keeps returns an error if the kernel does not have the content of a file of a process.
func (m *mounted) keeps(want []byte, pid, name string) error {
	dir := m.view.table.known(place{rootID, pid})
	n := m.view.table.known(place{dir, name})
	got := make([]byte, len(want)+1)
	size, status := m.view.kernel.InodeRetrieveCache(n, 0, got)
	if status != fuse.OK || !bytes.Equal(got[:size], want) {
		return fmt.Errorf("%s of %s, inode %d: the kernel has %q, %v, want %q", name, pid, n, got[:size], status, want)
	}
	return nil
}

// TestReaderAsksNothing reads the listed processes as ps(1) does, while the server answers no
// request.
func TestReaderAsksNothing(t *testing.T) {
	m := mount(t)
	dirs := map[int]Process{}
	told := m.showMany()
	if _, err := os.ReadDir(m.path); err != nil {
		t.Fatal(err)
	}
	m.view.warmer.turn.Lock() // when all processes are known; a reader need not wait for the last ones
	defer m.view.warmer.turn.Unlock()
	for _, p := range told { // names in /proc itself are cached for a short time
		fd, err := unix.Open(m.file(p.PID), unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		dirs[fd] = p
	}
	read := make(chan error, 1)
	m.view.table.mu.Lock()
	go func() {
		var errs []error
		for fd, p := range dirs {
			errs = append(errs, asPs(fd, p))
		}
		read <- errors.Join(errs...)
	}()
	var err error
	select {
	case err = <-read:
		m.view.table.mu.Unlock()
	case <-time.After(limit.Scaled(2 * time.Minute)):
		m.view.table.mu.Unlock()
		err = errors.Join(errors.New("the reader waits for the server"), <-read)
	}
	if err != nil {
		t.Error(err)
	}
}

// asPs reads the files of a process that ps(1) reads.
func asPs(dir int, p Process) error {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, "", &st, unix.AT_EMPTY_PATH); err != nil || st.Uid != p.UID {
		return fmt.Errorf("owner of %d: got %d, %w", p.PID, st.Uid, err)
	}
	for name, want := range map[string][]byte{"stat": p.Stat, "status": p.Status, "environ": p.Environ, "cmdline": p.Cmdline} {
		fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("open %s of %d: %w", name, p.PID, err)
		}
		got := make([]byte, len(want))
		n, err := unix.Read(fd, got)
		_ = unix.Close(fd)
		if err != nil || !bytes.Equal(got[:n], want) {
			return fmt.Errorf("%s of %d: got %q, %w", name, p.PID, got[:n], err)
		}
	}
	if err := unix.Faccessat(dir, "ctty", unix.F_OK, 0); !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("ctty of %d: %w", p.PID, err)
	}
	return nil
}

// TestNothingCanBeWritten has root write to files that nobody may write.
func TestNothingCanBeWritten(t *testing.T) {
	m := mount(t)
	pid := ghosts(t, 1)[0]
	m.show(remote(pid, 'S', 0))
	for _, name := range []string{"comm", "oom_score_adj", "new"} {
		if err := os.WriteFile(m.file(pid, name), []byte("1"), 0o600); !errors.Is(err, unix.EROFS) {
			t.Errorf("%s: got %v, want %v", name, err, unix.EROFS)
		}
	}
}
