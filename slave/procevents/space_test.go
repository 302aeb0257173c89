package procevents_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/slave/procevents"
	"bproc/test/limit"
)

// The test binary also plays other parts, chosen by its first argument: init of a PID namespace,
// and programs that no shell can play.
var parts = map[string]func(){
	"init":         beInit,
	"exec-thread":  execFromThread,
	"clone-parent": cloneParent,
	"leader-exits": leaderExits,
	"threads":      manyThreads,
	"stop-victim":  stopVictim,
	"as-user":      asUser,
	"echo":         beEcho,
}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		part := parts[os.Args[1]]
		if part == nil {
			part = victims[os.Args[1]]
		}
		if part != nil {
			part()
			return
		}
	}
	limit.Tests(m) // keeps the exit code for the caller of TestMain
}

// beInit runs command lines from standard input, one after the other, and answers
// each with its status.
func beInit() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		c := exec.Command("/bin/sh", "-c", lines.Text())
		c.Stdout = os.Stderr
		c.Env = append(os.Environ(), "SELF="+os.Args[2])
		err := c.Run()
		if c.ProcessState == nil {
			fmt.Println("error", err)
			continue
		}
		fmt.Println("status", uint32(c.ProcessState.Sys().(interface{ ExitStatus() int }).ExitStatus()))
	}
}

// execFromThread executes another program from a thread that is not the first.
func execFromThread() {
	onOtherThread(func() {
		panic(unix.Exec("/bin/sh", []string{"sh", "-c", "exit 5"}, nil)) // returns only if it fails
	})
}

// cloneParent makes a child of its own parent.
func cloneParent() {
	_, err := syscall.ForkExec("/bin/true", []string{"true"}, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{Cloneflags: unix.CLONE_PARENT}})
	if err != nil {
		panic(err)
	}
}

// leaderExits ends its first thread with one code, then itself with another.
func leaderExits() {
	go onOtherThread(func() {
		for {
			// The namespace has no /proc of its own: /proc/self is the host's view.
			self, err := os.Readlink("/proc/self")
			if err != nil {
				panic(err)
			}
			stat, err := os.ReadFile("/proc/" + self + "/stat")
			if err != nil {
				panic(err)
			}
			if strings.Contains(string(stat), ") Z ") {
				break
			}
			time.Sleep(time.Millisecond)
		}
		unix.Exit(9)
	})
	// Does not return. Not a raw call: the scheduler is told, and takes the processor away from
	// this thread, which may be the only one.
	_, _, _ = unix.Syscall(unix.SYS_EXIT, 3, 0, 0)
}

// manyThreads has twenty threads at once.
func manyThreads() {
	var started, all sync.WaitGroup
	release := make(chan struct{})
	for range 20 {
		started.Add(1)
		all.Go(func() {
			runtime.LockOSThread()
			started.Done()
			<-release
		})
	}
	started.Wait()
	close(release)
	all.Wait()
}

// init puts the first goroutine on the first thread for good: see leaderExits.
func init() { runtime.LockOSThread() }

func onOtherThread(f func()) {
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		f()
		close(done)
	}()
	<-done
}

// space is a PID namespace with this binary as its init.
type space struct {
	testing.TB
	in     io.WriteCloser
	out    *bufio.Scanner
	errors *bufio.Reader // what commands print
	pipes  []interface{ SetReadDeadline(at time.Time) error }
	inode  uint64
}

// saysWithin is how long init and commands may take to say something.
const saysWithin = time.Minute

func newSpace(t testing.TB) *space {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("needs root")
	}
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(binary, "init", binary)
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS, Pdeathsig: unix.SIGKILL}
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	errors, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill() // everything in the namespace dies with its init
		_ = c.Wait()         // it was killed
	})
	s := &space{TB: t, in: in, out: bufio.NewScanner(out), errors: bufio.NewReader(errors)}
	for _, pipe := range []io.Reader{out, errors} {
		s.pipes = append(s.pipes, pipe.(*os.File))
	}
	if s.inode, err = procevents.Namespace(c.Process.Pid); err != nil {
		t.Fatal(err)
	}
	s.run(":") // the os package's first fork tests what the kernel can do
	return s
}

func (s *space) open(cfg procevents.Config) *procevents.Source {
	s.Helper()
	cfg.Namespace = s.inode
	if cfg.Ring == 0 {
		cfg.Ring = 1 << 20
	}
	source, err := procevents.Open(cfg)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = source.Close() })
	return source
}

func (s *space) start(command string) {
	s.Helper()
	if _, err := io.WriteString(s.in, command+"\n"); err != nil {
		s.Fatal(err)
	}
}

func (s *space) wait() {
	s.Helper()
	s.patience()
	if !s.out.Scan() || !strings.HasPrefix(s.out.Text(), "status") {
		s.Fatalf("init says %q, %v", s.out.Text(), s.out.Err())
	}
}

// patience bounds the reads from now on.
func (s *space) patience() {
	s.Helper()
	for _, pipe := range s.pipes {
		if err := pipe.SetReadDeadline(time.Now().Add(saysWithin)); err != nil {
			s.Fatal(err)
		}
	}
}

func (s *space) run(command string) {
	s.Helper()
	s.start(command)
	s.wait()
}

// number reads a line with a number that a command has written.
func (s *space) number() int {
	s.Helper()
	s.patience()
	line, err := s.errors.ReadString('\n')
	if err != nil {
		s.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		s.Fatal(err)
	}
	return n
}

// fifo makes a named pipe.
func (s *space) fifo() string {
	s.Helper()
	path := filepath.Join(s.TempDir(), "fifo")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		s.Fatal(err)
	}
	return path
}

// close ends what is read from a named pipe. It waits until somebody reads.
func (s *space) close(fifo string) {
	s.Helper()
	f, err := os.OpenFile(fifo, os.O_WRONLY, 0)
	if err != nil {
		s.Fatal(err)
	}
	if err := f.Close(); err != nil {
		s.Fatal(err)
	}
}
