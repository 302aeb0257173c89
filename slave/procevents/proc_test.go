package procevents_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/slave/procevents"
	"bproc/wire"
)

func writeProc(t *testing.T, files map[string]string) procevents.Proc {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return procevents.Proc(dir)
}

// stat is a line of /proc/PID/stat.
func stat(name string, pid int, state string, parent, pgid, sid, threads, exit int) string {
	return fmt.Sprintf("%d (%s) %s %d %d %d 0 -1 0 0 0 0 0 0 0 0 0 20 0 %d%s %d\n",
		pid, name, state, parent, pgid, sid, threads, strings.Repeat(" 0", 52-20-1), exit)
}

func TestScan(t *testing.T) {
	const status = "Name:\tx\nUid:\t7\t8\t9\t10\nGid:\t1\t2\t3\t4\nGroups:\t\n"
	proc := writeProc(t, map[string]string{
		"1/stat":    stat("bpinit", 1, "S", 0, 1, 1, 5, 0),
		"1/status":  "Uid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\n",
		"20/stat":   stat("odd) S 9 (name", 20, "R", 1, 20, 1, 1, 0),
		"20/status": status,
		"21/stat":   stat("dead", 21, "Z", 20, 20, 1, 1, 256),
		"21/status": status,
		"22/stat":   stat("leader is dead", 22, "Z", 20, 20, 1, 3, 0),
		"22/status": status,
		"23/stat":   "garbage\n",
		"23/status": status,
		"24/status": "no stat: it ended\n",
		"25/stat":   stat("no status: it ended", 25, "S", 1, 20, 1, 1, 0),
		"26/stat":   stat("stopped", 26, "T", 20, 20, 1, 1, 20),
		"26/status": status,
		"28/stat":   strings.Replace(stat("ending", 28, "R", 20, 20, 1, 1, 0), " -1 0 ", " -1 4194564 ", 1),
		"28/status": status,
		"29/stat":   strings.Replace(stat("a thread ends", 29, "R", 20, 20, 1, 2, 0), " -1 0 ", " -1 4 ", 1),
		"29/status": status,
		"27/stat":   stat("odd status", 27, "S", 20, 20, 1, 1, 20),
		"27/status": "Uid:\t1\n",
		"self/stat": stat("self", 20, "R", 1, 20, 1, 1, 0),
		"meminfo":   "",
	})
	got, err := proc.Scan()
	if err != nil {
		t.Fatal(err)
	}
	user, group := wire.IDs{Real: 7, Effective: 8, Saved: 9}, wire.IDs{Real: 1, Effective: 2, Saved: 3}
	want := []procevents.ProcessInfo{
		{PID: 1, PGID: 1, SID: 1, State: 'S'},
		{PID: 20, Parent: 1, PGID: 20, SID: 1, User: user, Group: group, State: 'R'},
		{PID: 22, Parent: 20, PGID: 20, SID: 1, User: user, Group: group, State: 'Z'},
		{PID: 26, Parent: 20, PGID: 20, SID: 1, User: user, Group: group, State: 'T', Stop: 20},
		{PID: 28, Parent: 20, PGID: 20, SID: 1, User: user, Group: group, State: 'R', Ending: true},
		{PID: 29, Parent: 20, PGID: 20, SID: 1, User: user, Group: group, State: 'R'},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, pid := range []wire.PID{20, 21, 22, 23, 26, 28, 29} {
		p, there := proc.Remains(pid)
		if want := pid == 21 || pid == 22 || pid == 28 || pid == 29; there != want || there && p.PID != pid {
			t.Errorf("process %d has ended and is there: %v, want %v", pid, there, want)
		}
	}
	if _, err := (proc + "/nowhere").Scan(); err == nil {
		t.Error("a directory that is not there was scanned")
	}
}

// TestProcessCannotBeRead: a process that is there and cannot be read is not taken for gone.
func TestProcessCannotBeRead(t *testing.T) {
	proc := writeProc(t, map[string]string{
		"20/stat/directory": "", // EISDIR (read(2)) stands for any error but ENOENT and ESRCH
		"21/stat":           stat("no status", 21, "S", 1, 20, 1, 1, 0),
	})
	if all, err := proc.Scan(); err == nil {
		t.Errorf("got %v, want an error", all)
	}
	if _, err := proc.Zombie(20); err == nil || errors.Is(err, procevents.ErrGone) {
		t.Errorf("got %v", err)
	}
	for _, pid := range []wire.PID{21, 22} {
		if _, err := proc.Zombie(pid); !errors.Is(err, procevents.ErrGone) {
			t.Errorf("%d: got %v, want %v", pid, err, procevents.ErrGone)
		}
	}
}

func TestScanOfThisMachine(t *testing.T) {
	all, err := procevents.Proc("/proc").Scan()
	if err != nil {
		t.Fatal(err)
	}
	me := wire.PID(os.Getpid())
	i := slices.IndexFunc(all, func(p procevents.ProcessInfo) bool { return p.PID == me })
	if i < 0 || all[i].Parent != wire.PID(os.Getppid()) || all[i].User.Effective != uint32(os.Geteuid()) {
		t.Errorf("this process is not among %v with its parent and user", all)
	}
}

func TestProcessThatIsStopped(t *testing.T) {
	c := exec.Command("sleep", "1000")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that its group is not orphaned and SIGTTIN stops it
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = c.Process.Kill() // only its end matters
		_ = c.Wait()
	}()
	if err := c.Process.Signal(unix.SIGTTIN); err != nil {
		t.Fatal(err)
	}
	pid := wire.PID(c.Process.Pid)
	for deadline := time.Now().Add(10 * time.Second); ; {
		p, err := procevents.Proc("/proc").Process(pid)
		if err == nil && p.State == 'T' {
			if p.Stop != int(unix.SIGTTIN) && (p.Stop != 0 || !isOld()) {
				t.Errorf("stopped by %d, want %d", p.Stop, unix.SIGTTIN)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d is not stopped: %+v", pid, p)
		}
		runtime.Gosched()
	}
}

// TestProcessBecomesLeader looks at a process while it calls setsid(2): the kernel has read its
// session before the call, and its group after it.
func TestProcessBecomesLeader(t *testing.T) {
	proc := writeProc(t, map[string]string{"20/stat": stat("leader", 20, "R", 1, 20, 7, 1, 0)})
	status := filepath.Join(string(proc), "20/status")
	if err := unix.Mkfifo(status, 0o600); err != nil {
		t.Fatal(err)
	}
	changed := make(chan error, 1)
	go func() { // after stat was read, when status is opened
		f, err := os.OpenFile(status, os.O_WRONLY, 0)
		if err != nil {
			changed <- err
			return
		}
		defer f.Close()
		whole := os.WriteFile(filepath.Join(string(proc), "20/stat"), []byte(stat("leader", 20, "R", 1, 20, 20, 1, 0)), 0o600)
		_, err = f.WriteString("Uid:\t7\t8\t9\t10\nGid:\t1\t2\t3\t4\n")
		changed <- errors.Join(whole, err)
	}()
	p, err := proc.Process(20)
	if err := <-changed; err != nil {
		t.Fatal(err)
	}
	if err != nil || p.PGID != 20 || p.SID != 20 {
		t.Errorf("got group %d, session %d, %v, want 20 and 20", p.PGID, p.SID, err)
	}
}

func TestImage(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	proc := writeProc(t, map[string]string{
		"20/cmdline": "sh\x00-c\x00\x00echo hi\x00", "20/comm": "sh\n",
		"21/cmdline": "", "21/comm": "ended\n",
		"22/cmdline": long + "\x00", "22/comm": long[:15] + "\n",
		"23/cmdline": "/usr/bin/named\x00", "23/comm": "another\n",
		"24/cmdline": "-bash\x00", "24/comm": "two\nlines\n",
	})
	for pid, want := range map[wire.PID]procevents.Image{
		20: {Argv: []string{"sh", "-c", "", "echo hi"}},
		21: {Comm: "ended"},
		22: {Argv: []string{long[:64<<10]}},
		23: {Argv: []string{"/usr/bin/named"}, Comm: "another"},
		24: {Argv: []string{"-bash"}, Comm: "two\nlines"},
	} {
		got, ok := proc.Image(pid)
		if !ok || !slices.Equal(got.Argv, want.Argv) || got.Comm != want.Comm {
			t.Errorf("process %d: got %.200v, %v, want %.200v", pid, got, ok, want)
		}
	}
	if _, ok := proc.Image(25); ok {
		t.Error("a process that is not there has an image")
	}
}
