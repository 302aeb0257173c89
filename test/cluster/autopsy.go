package cluster

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// Bounds of the report about a cluster in which a test hangs.
const (
	shownProcesses = 400      // lines about processes
	shownThreads   = 64       // of a process
	shownLog       = 16 << 10 // bytes of a log before the daemon's end
	shownBefore    = 2 << 10  // bytes of a log just before its daemon's stacks
	shownStacks    = 48 << 10 // bytes of stacks of a daemon, and of the test
)

// stackTimeout is how long a daemon may take to print its stacks.
const stackTimeout = 2 * time.Second

// ourDaemons are the programs that print their stacks on SIGQUIT, as Go programs do. The first are
// ended first, because others end when these do. The init of a process space ignores all signals.
var ourDaemons = []string{"bpmaster", "bpslave", "bpprocfs", "bpkeeper"}

// autopsy reports the state of the processes of a hanging cluster, and ends its daemons. It does
// nothing that may hang itself: it reads no file of a machine and no command line.
func (c *Cluster) autopsy() []string {
	processes := c.processes()
	lines := make([]string, 0, len(processes))
	for _, p := range processes {
		lines = append(lines, p.String())
	}
	if cut := len(lines) - shownProcesses; cut > 0 {
		lines = append(lines[:shownProcesses], fmt.Sprintf("and %d more", cut))
	}
	texts := []string{"machine, number here and there, parent, state, name, where its threads wait in the kernel:\n" + strings.Join(lines, "\n")}

	for _, file := range c.logFiles() {
		name, _ := filepath.Rel(c.dir, file) // both are absolute
		if text, err := readTail(file, 0); err == nil && len(text) > 0 {
			texts = append(texts, fmt.Sprintf("%s:\n%s", name, text[max(0, len(text)-shownLog):]))
		}
	}
	for _, comm := range ourDaemons {
		for _, p := range processes {
			if p.comm == comm {
				texts = append(texts, fmt.Sprintf("%s on %s, after SIGQUIT:\n%s", p.comm, p.machine, p.quit()))
			}
		}
	}
	return texts
}

// quit ends a daemon by SIGQUIT and returns its output, with a little of the log before it.
func (p hostProcess) quit() string {
	// By the daemon's descriptor: the log may be in a directory of the machine.
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/fd/2", p.pid), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err.Error()
	}
	log := os.NewFile(uintptr(fd), "log")
	defer log.Close()
	info, err := log.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return fmt.Sprint("standard error is no file: ", err)
	}
	if err := unix.Kill(p.pid, unix.SIGQUIT); err != nil {
		return err.Error()
	}
	text := make([]byte, shownStacks)
	awaitSettled(log)
	n, _ := log.ReadAt(text, max(0, info.Size()-shownBefore)) // an error means that less was read
	return string(bytes.TrimSpace(text[:n]))
}

// awaitSettled waits until a log stops growing.
func awaitSettled(log *os.File) {
	var last int64
	deadline := time.Now().Add(stackTimeout)
	for quiet := 0; quiet < 6 && time.Now().Before(deadline); quiet++ {
		time.Sleep(50 * time.Millisecond)
		if info, err := log.Stat(); err == nil && info.Size() != last {
			last, quiet = info.Size(), 0
		}
	}
}

// powerFailure ends all processes of the cluster at once, and aborts its FUSE connections: a system
// call that waits for one may not be interruptible. [Cluster.Stop] removes the rest.
func (c *Cluster) powerFailure() {
	c.failed.Store(true)
	processes := c.processes()
	connections := fuseConnections(processes)
	for _, p := range processes {
		_ = unix.Kill(p.pid, unix.SIGKILL) // it may have ended, as wanted
	}
	for _, dir := range connections {
		_ = os.WriteFile(filepath.Join(dir, "abort"), []byte("1"), 0) // the connection may have ended with its server
	}
}

// fuseConnections returns the directories (fuse.rst) of the FUSE mounts that processes see and this
// one does not.
func fuseConnections(processes []hostProcess) []string {
	ours := map[int]bool{}
	if mounts, err := mountinfo.GetMounts(notFUSE); err == nil {
		for _, m := range mounts {
			ours[m.Minor] = true
		}
	}
	seen := map[string]bool{} // mount namespaces
	var dirs []string
	for _, p := range processes {
		ns, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", p.pid))
		if err != nil || seen[ns] {
			continue
		}
		seen[ns] = true
		mounts, err := mountsOf(p.pid)
		if err != nil {
			continue // it has ended
		}
		for _, m := range mounts {
			dir := fmt.Sprintf("/sys/fs/fuse/connections/%d", m.Minor)
			if !ours[m.Minor] && !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

// mountsOf returns the FUSE mounts that a process sees.
func mountsOf(pid int) ([]*mountinfo.Info, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/mountinfo", pid))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return mountinfo.GetMountsFromReader(f, notFUSE)
}

// notFUSE skips the mounts of other file systems.
func notFUSE(i *mountinfo.Info) (skip, stop bool) {
	return !strings.HasPrefix(i.FSType, "fuse.") && i.FSType != "fuse", false
}

// hostProcess is a process of a cluster as the host shows it.
type hostProcess struct {
	machine     string
	pid, parent int // the host's numbers
	inside      int // its number in the machine
	comm, state string
	wchan       string // the kernel functions in which its threads wait (proc_pid_wchan(5))
}

func (p hostProcess) String() string {
	return fmt.Sprintf("%-6s %7d %7d %7d %s %-15s %s", p.machine, p.pid, p.inside, p.parent, p.state, p.comm, p.wchan)
}

// processes returns the processes of all machines, including those that hang while they boot, by
// their control groups.
func (c *Cluster) processes() []hostProcess {
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is valid
	var all []hostProcess
	for _, dir := range dirs {
		groups, err := os.ReadFile(filepath.Join(dir, "cgroup"))
		if err != nil {
			continue // it has ended
		}
		for _, m := range c.machines() {
			if strings.Contains(string(groups), "/"+c.site.id+"/"+m.group+"/") || strings.Contains(string(groups), "/"+c.site.id+"/"+m.group+"\n") {
				all = append(all, readHostProcess(m.Name, dir))
				break
			}
		}
	}
	return all
}

func readHostProcess(machine, dir string) hostProcess {
	p := hostProcess{machine: machine, state: "?"}
	p.pid, _ = strconv.Atoi(filepath.Base(dir)) // digits
	status, _ := os.ReadFile(filepath.Join(dir, "status"))
	for line := range strings.Lines(string(status)) {
		switch key, value, _ := strings.Cut(strings.TrimSpace(line), ":\t"); key {
		case "Name":
			p.comm = value
		case "State":
			p.state, _, _ = strings.Cut(value, " ")
		case "PPid":
			p.parent, _ = strconv.Atoi(value)
		}
	}
	if pids := statusInts(string(status), "NSpid:"); len(pids) > 1 {
		p.inside = pids[1]
	}
	p.wchan = waitChannels(dir)
	return p
}

// waitChannels counts the kernel functions in which the threads of a process wait: "futex_do_wait
// 7, ep_poll"; 0 is a running thread.
func waitChannels(dir string) string {
	files, _ := filepath.Glob(dir + "/task/*/wchan") // the pattern is valid
	counts := map[string]int{}
	for _, file := range files[:min(len(files), shownThreads)] {
		if wchan, err := os.ReadFile(file); err == nil {
			counts[string(wchan)]++
		}
	}
	var words []string
	for _, wchan := range slices.Sorted(maps.Keys(counts)) {
		if counts[wchan] > 1 {
			wchan += fmt.Sprint(" ", counts[wchan])
		}
		words = append(words, wchan)
	}
	return strings.Join(words, ", ")
}

// ourStacks returns the stacks of this process's goroutines that run code of this module.
func ourStacks() string {
	buffer := make([]byte, 4<<20)
	all := string(buffer[:runtime.Stack(buffer, true)])
	var text strings.Builder
	for _, one := range strings.Split(all, "\n\n") {
		if strings.Contains(one, "bproc/") && text.Len()+len(one) < shownStacks {
			text.WriteString(one + "\n\n")
		}
	}
	return text.String()
}
