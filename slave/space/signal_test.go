package space_test

import (
	"bufio"
	"encoding/binary"
	"os"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// Values of si_code (sigaction(2)).
const (
	codeUser   = 0
	codeQueue  = -1
	codeTkill  = -6
	codeKernel = 0x80
)

// info returns a siginfo_t.
func info(signo unix.Signal, code, pid int32, uid uint32, value uint64) []byte {
	b := make([]byte, 128)
	binary.NativeEndian.PutUint32(b[0:], uint32(signo))
	binary.NativeEndian.PutUint32(b[8:], uint32(code))
	binary.NativeEndian.PutUint32(b[16:], uint32(pid))
	binary.NativeEndian.PutUint32(b[20:], uid)
	binary.NativeEndian.PutUint64(b[24:], value)
	return b
}

func TestEverySignal(t *testing.T) {
	n := newNode(t)
	for signo := unix.Signal(1); signo <= 64; signo++ {
		pid := wire.PID(70000 + int(signo))
		n.mustLaunch(command(pid, "sleep", "1000"))
		if err := n.Signal(pid, info(signo, codeUser, 99, 0, 0)); err != nil {
			t.Fatal(err)
		}
		switch signo {
		case unix.SIGCHLD, unix.SIGCONT, unix.SIGURG, unix.SIGWINCH: // ignored by default
		case unix.SIGSTOP, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU:
			if s := n.awaitStatus(pid, unix.WaitStatus.Stopped); s.StopSignal() != signo {
				t.Errorf("signal %d: stopped by %d", signo, s.StopSignal())
			}
		default:
			if s := n.awaitStatus(pid, over); s.Signal() != signo {
				t.Errorf("signal %d: status %#x", signo, s)
			}
			continue
		}
		if err := n.Signal(pid, info(unix.SIGKILL, codeUser, 99, 0, 0)); err != nil {
			t.Fatal(err)
		}
		if s := n.awaitStatus(pid, over); s.Signal() != unix.SIGKILL {
			t.Errorf("after signal %d: status %#x, want ended by SIGKILL", signo, s)
		}
	}
}

func TestStopAndContinue(t *testing.T) {
	n := newNode(t)
	n.mustLaunch(command(70001, "sleep", "1000"))
	for _, step := range []struct {
		signo unix.Signal
		want  func(unix.WaitStatus) bool
	}{
		{unix.SIGSTOP, unix.WaitStatus.Stopped},
		{unix.SIGCONT, unix.WaitStatus.Continued},
	} {
		if err := n.Signal(70001, info(step.signo, codeUser, 99, 0, 0)); err != nil {
			t.Fatal(err)
		}
		n.awaitStatus(70001, step.want)
	}
}

func TestSiginfo(t *testing.T) {
	n := newNode(t)
	for i, c := range []struct {
		name string
		sent []byte
		want string // signo code pid uid value
	}{
		{"kill", info(unix.SIGUSR1, codeUser, 4242, 1000, 77), "10 -1 4242 1000 0"},
		{"tgkill", info(unix.SIGUSR1, codeTkill, 4242, 1000, 77), "10 -1 4242 1000 0"},
		{"sigqueue", info(40, codeQueue, 4242, 1000, 0x123456789), "40 -1 4242 1000 4886718345"},
		{"kernel", info(unix.SIGUSR1, codeKernel, 0, 0, 0), "10 0 1 0 0"}, // kill(2) by init
	} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		sp := command(wire.PID(70000+i), probe, "siginfo")
		sp.Command.Stdio[1].Mode = wire.DescriptorStream
		n.mustLaunch(sp, w)
		w.Close()
		_ = r.SetReadDeadline(time.Now().Add(patience))
		lines := bufio.NewScanner(r)
		lines.Scan() // ready
		if err := n.Signal(sp.PID, c.sent); err != nil {
			t.Fatal(err)
		}
		lines.Scan()
		if got := lines.Text(); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		r.Close()
	}
}

// The signal is sent before the process can exist.
func TestSignalBeforeTheProcess(t *testing.T) {
	n := newNode(t)
	for i := range 50 {
		pid := wire.PID(70000 + i)
		if err := n.Launch(command(pid, "sleep", "1000"), nil, nil, func(wire.Stage, unix.Errno) {}); err != nil {
			t.Fatal(err)
		}
		if err := n.Signal(pid, info(unix.SIGTERM, codeUser, 99, 0, 0)); err != nil {
			t.Fatal(err)
		}
		if s := n.awaitStatus(pid, over); s.Signal() != unix.SIGTERM {
			t.Errorf("status %#x, want ended by SIGTERM", s)
		}
	}
}

func TestSignalsThatGoNowhere(t *testing.T) {
	n := newNode(t)
	for _, pid := range []wire.PID{-1, 0, 1, 70009} {
		if err := n.Signal(pid, info(unix.SIGKILL, codeUser, 99, 0, 0)); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.Signal(70001, []byte("short")); err != nil {
		t.Fatal(err)
	}
	if text, _ := n.output(command(70001, "echo", "alive")); text != "alive\n" {
		t.Errorf("got %q", text)
	}
}

// Root inside the space cannot end init, whose number is another process's on the front end. A
// descriptor of its directory in /proc stands for it in pidfd_send_signal(2).
func TestInitIsNotKilledFromInside(t *testing.T) {
	n := newNode(t)
	for i, signal := range []unix.Signal{
		unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGABRT, unix.SIGALRM, unix.SIGTERM,
		unix.SIGUSR1, unix.SIGPIPE, unix.SIGKILL, unix.SIGSTOP, unix.SIGTSTP,
	} {
		sp := command(wire.PID(70010+i), probe, "pidfd-signal", "/proc/1", strconv.Itoa(int(signal)))
		if text, _ := n.output(sp); text != "0\n" {
			t.Errorf("%v: got %q", signal, text)
		}
	}
	if text, _ := n.output(command(70002, "echo", "alive")); text != "alive\n" {
		t.Errorf("got %q", text)
	}
}

func TestKillAll(t *testing.T) {
	n := newNode(t)
	const count = 20
	for i := range count {
		n.mustLaunch(command(wire.PID(70000+i), "sleep", "1000"))
	}
	for i := range count { // and as many whose launch is under way
		sp := command(wire.PID(71000+i), "sleep", "1000")
		if err := n.Launch(sp, nil, nil, func(wire.Stage, unix.Errno) {}); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.KillAll(); err != nil {
		t.Fatal(err)
	}
	for i := range count {
		for _, base := range []int{70000, 71000} {
			if s := n.awaitStatus(wire.PID(base+i), over); s.Signal() != unix.SIGKILL {
				t.Errorf("status %#x, want ended by SIGKILL", s)
			}
			if !n.endedWithNode(wire.PID(base + i)) {
				t.Errorf("%d was killed with all others, and init does not say so", base+i)
			}
		}
	}
	n.mustLaunch(command(70100, "sleep", "1000"))
	if err := n.Signal(70100, info(unix.SIGKILL, codeUser, 1, 0, 0)); err != nil {
		t.Fatal(err)
	}
	if n.awaitStatus(70100, over); n.endedWithNode(70100) {
		t.Error("a process that was killed alone is said to have ended with all others")
	}
}

func TestFreeze(t *testing.T) {
	n := newNode(t)
	n.mustLaunch(command(70001, "sleep", "1000"))
	if err := n.Freeze(); err != nil {
		t.Fatal(err)
	}
	launched := make(chan launchResult, 1)
	err := n.Launch(command(70002, "true"), nil, nil, func(stage wire.Stage, errno unix.Errno) { launched <- launchResult{stage, errno} })
	if err != nil {
		t.Fatal(err)
	}
	select {
	case r := <-launched:
		t.Errorf("launched while frozen: %v", r)
	case <-time.After(50 * time.Millisecond): // there is no event to wait for: nothing must happen
	}
	if err := n.Thaw(); err != nil {
		t.Fatal(err)
	}
	if r := <-launched; r != (launchResult{}) {
		t.Errorf("after the thaw: %v", r)
	}
	if err := n.Thaw(); err != nil {
		t.Errorf("second thaw: %v", err)
	}
	if err := n.Freeze(); err != nil {
		t.Fatal(err)
	}
	if err := n.KillAll(); err != nil {
		t.Fatal(err)
	}
	if s := n.awaitStatus(70001, over); s.Signal() != unix.SIGKILL {
		t.Errorf("status %#x", s)
	}
}

// While a space is frozen its init reads nothing; the sender of a signal does not wait.
func TestSignalsToAFrozenSpace(t *testing.T) {
	n := newNode(t)
	n.mustLaunch(command(70001, "sleep", "1000"))
	if err := n.Freeze(); err != nil {
		t.Fatal(err)
	}
	for range 3000 {
		if err := n.Signal(70001, info(unix.SIGCONT, codeUser, 1, 0, 0)); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.Signal(70001, info(unix.SIGTERM, codeUser, 1, 0, 0)); err != nil {
		t.Fatal(err)
	}
	if err := n.Thaw(); err != nil {
		t.Fatal(err)
	}
	if s := n.awaitStatus(70001, over); s.Signal() != unix.SIGTERM {
		t.Errorf("status %#x", s)
	}
}
