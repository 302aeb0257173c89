package slave

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestToldToEndAtStart: a daemon is told to end before it has taken over what a former one has
// left. It ends that and says so, or keeps it, as it is configured.
func TestToldToEndAtStart(t *testing.T) {
	f := newFront(t, 1)
	d := newDaemons(t, f)
	job := f.start(70001, nil, "sh", "-c", "sleep 1000 & echo here; wait; exit 5")
	f.await("it runs", func() bool { return job.got[0] > 0 })

	d.kill()
	d.begin("end", "keep")
	d.ends()
	d.start()
	f.await("its child is known", func() bool { return len(f.procs) == 2 })

	d.kill()
	d.begin("end")
	d.ends()
	f.await("the node has left", func() bool { return f.left })
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.procs) > 0 || !unix.WaitStatus(job.status).Signaled() {
		t.Errorf("the front end knows of %v, and of the status %#x", f.procs, job.status)
	}
}

// TestRestarted: a daemon that is told to leave its processes to the next one does nothing to them,
// and says nothing about them, however long it takes to end.
func TestRestarted(t *testing.T) {
	f := newFront(t, 1)
	d := newDaemons(t, f)
	d.kill()
	d.start("linger")
	input := []byte("first\n")
	job := f.start(70001, input, "sh", "-c", "read line; echo $line; kill -STOP $$; exit 5")
	f.await("it reads and writes", func() bool { return job.got[0] == uint64(len(input)) })

	if err := d.cmd.Process.Signal(unix.SIGHUP); err != nil {
		t.Fatal(err)
	}
	d.ends()
	f.mu.Lock()
	leaving, over, ended := f.leaving, job.over, job.ended
	f.mu.Unlock()
	if leaving || over || ended != [2]bool{} {
		t.Fatalf("leaving: %v; process over: %v; outputs ended: %v", leaving, over, ended)
	}
	d.start()
	f.mu.Lock()
	f.signal(job.spawn.PID, unix.SIGCONT)
	f.mu.Unlock()
	f.await("it ends", job.finished)
	f.mu.Lock()
	defer f.mu.Unlock()
	exited(t, job, 5)
}

// TestInitDies: a daemon whose space has ended says that no process is left.
func TestInitDies(t *testing.T) {
	f := newFront(t, 1)
	d := newDaemons(t, f)
	job := f.start(70001, nil, "sh", "-c", "(sleep 1000) & echo here; wait; exit 5")
	f.await("it runs", func() bool { return job.got[0] > 0 && len(f.procs) == 2 })
	if err := unix.Kill(d.init(), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	f.await("the node has left", func() bool { return f.left })
	_ = d.cmd.Wait() // it ends with an error
	f.mu.Lock()
	delete(f.procs, job.spawn.PID) // only init could have reported how it ended
	if len(f.procs) > 0 {
		t.Errorf("the front end knows of %v", f.procs)
	}
	f.mu.Unlock()
}

// init returns the process that is the init of the daemon's space.
func (d *daemons) init() int {
	d.t.Helper()
	own, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		d.t.Fatal(err)
	}
	children, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", d.cmd.Process.Pid))
	if err != nil {
		d.t.Fatal(err)
	}
	for _, path := range children {
		text, _ := os.ReadFile(path) // the thread may have ended
		for _, child := range strings.Fields(string(text)) {
			if ns, err := os.Readlink("/proc/" + child + "/ns/pid"); err == nil && ns != own {
				pid, _ := strconv.Atoi(child)
				return pid
			}
		}
	}
	d.t.Fatal("the daemon has no init")
	return 0
}
