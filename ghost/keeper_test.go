package ghost

import (
	"bytes"
	"debug/elf"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

type unixCredential = syscall.Credential

const nobody = 65534

func TestImage(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		image, err := Image(arch)
		if err != nil {
			t.Fatal(err)
		}
		f, err := elf.NewFile(bytes.NewReader(image))
		if err != nil {
			t.Fatalf("%s: %v", arch, err)
		}
		if f.Type != elf.ET_EXEC || len(f.Progs) != 1 || f.Progs[0].Flags&elf.PF_W != 0 {
			t.Errorf("%s: type %v, %d segments, flags %v", arch, f.Type, len(f.Progs), f.Progs[0].Flags)
		}
		if len(image) > 512 {
			t.Errorf("%s: image of %d bytes", arch, len(image))
		}
		checkCode(t, arch)
	}
	if _, err := Image("pdp11"); err == nil {
		t.Error("an image for pdp11")
	}
}

// checkCode checks the code at the offsets that a keeper puts a ghost at.
func checkCode(t *testing.T, arch string) {
	t.Helper()
	c := codes[arch]
	call := map[string]string{"amd64": "\x0f\x05", "arm64": "\x01\x00\x00\xd4"}[arch]
	for name, at := range map[string]uint64{
		"one": c.one, "make": c.make, "said": c.said - uint64(len(call)), // after the call by which it says so
	} {
		if got := string(c.text[at:][:len(call)]); got != call {
			t.Errorf("%s: at %s is % x, want % x", arch, name, got, call)
		}
	}
	load := map[string]string{"amd64": "\x49\x8b\x04\x24", "arm64": "\x68\x02\x40\xf9"}[arch]
	if got := string(c.text[c.list:][:len(load)]); got != load {
		t.Errorf("%s: at list is % x, want % x", arch, got, load)
	}
}

func TestAdopt(t *testing.T) {
	f := newFixture(t)
	me := wire.PID(os.Getpid())
	pid := start(t, nobody, "a")
	other := start(t, 0, "b")
	before := formerly(t, 0, "c")
	for _, c := range []struct {
		name string
		m    wire.GhostAdopt
		want unix.Errno
	}{
		{"no such process", wire.GhostAdopt{PID: 4000000, Parent: me}, unix.ESRCH},
		{"another user's", wire.GhostAdopt{PID: pid, Parent: me, UID: 1}, unix.EPERM},
		{"another's child", wire.GhostAdopt{PID: pid, Parent: 2, UID: nobody}, unix.ECHILD},
		{"init", wire.GhostAdopt{PID: 1, Parent: 0, UID: AnyUser}, unix.EINVAL},
		{"right", wire.GhostAdopt{PID: pid, Parent: me, UID: nobody}, 0},
		{"twice", wire.GhostAdopt{PID: pid, Parent: me, UID: nobody}, unix.EEXIST},
		{"adopted before", wire.GhostAdopt{PID: before, UID: AnyUser}, 0},
		{"not adopted before", wire.GhostAdopt{PID: other, UID: AnyUser}, unix.ESRCH},
		{"the same, for its client", wire.GhostAdopt{PID: other, Parent: me}, 0},
	} {
		if got := f.ask(t, &c.m); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
	f.end(t, pid, 0)
	f.end(t, other, 0)
	f.end(t, before, 0)
}

func TestAdoptNoGhost(t *testing.T) {
	f := newFixture(t)
	p, err := os.StartProcess("/bin/sleep", []string{"sleep", "60"}, &os.ProcAttr{})
	if err != nil {
		t.Fatal(err)
	}
	if got := f.ask(t, &wire.GhostAdopt{PID: wire.PID(p.Pid), Parent: wire.PID(os.Getpid())}); got != unix.EINVAL {
		t.Errorf("got %v, want EINVAL", got)
	}
	if err := p.Signal(unix.SIGTERM); err != nil { // it has no tracer any more
		t.Fatal(err)
	}
	if st := wait(t, wire.PID(p.Pid), 0); st.Signal() != unix.SIGTERM {
		t.Errorf("status %v", st)
	}
}

func TestUnadopted(t *testing.T) {
	t.Parallel() // this test and another one wait for long
	begin := time.Now()
	pid := start(t, 0, "lonely")
	if st := wait(t, pid, 0); st.Signal() != unix.SIGALRM {
		t.Errorf("status %v", st)
	}
	if life := time.Since(begin); life < (AdoptTime-1)*time.Second {
		t.Errorf("a ghost lived only %v", life)
	}
}

func TestNames(t *testing.T) {
	f := newFixture(t)
	pid := f.ghost(t, nobody, "/usr/bin/make", "-j8", "all")
	check := func(comm, cmdline string) {
		t.Helper()
		eventually(t, "comm "+comm, func() bool {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
			return strings.TrimSpace(string(text)) == comm
		})
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if string(text) != cmdline {
			t.Errorf("command line %q, want %q", text, cmdline)
		}
	}
	check("make", "/usr/bin/make\x00-j8\x00all\x00")
	long := strings.Repeat("x", 100<<10)
	f.must(t, &wire.GhostExec{PID: pid, Argv: []string{"cc", "-c", long}})
	check("cc", "cc\x00-c\x00"+long[:maxArgv-len(imageOf(t))-1-6-8*4-1]+"\x00")
	f.must(t, &wire.GhostExec{PID: pid, Argv: []string{"ld"}})
	check("ld", "ld\x00")
	f.must(t, &wire.GhostExec{PID: pid, Argv: []string{"-argument"}, Comm: "sixteen letters!"})
	check("sixteen letters", "-argument\x00")
	f.end(t, pid, 0)
}

func TestSignals(t *testing.T) {
	f := newFixture(t)
	pid := f.ghost(t, nobody, "g")
	for sig := unix.Signal(1); sig <= 64; sig++ {
		if sig == unix.SIGKILL {
			continue
		}
		if err := queueSignal(pid, sig, uint64(1000+sig)); err != nil {
			t.Fatal(err)
		}
		got, info := f.signal(t, pid)
		if got != sig || info.value() != uint64(1000+sig) || info.sender() != wire.PID(os.Getpid()) {
			t.Errorf("signal %d: got %d, value %d, from %d", sig, got, info.value(), info.sender())
		}
		if state := statField(t, pid, 0); state == "T" {
			t.Errorf("signal %d stopped the ghost", sig)
		}
	}
	if st := f.end(t, pid, wire.ExitStatus(3)); st.ExitStatus() != 3 {
		t.Errorf("status %#x", st)
	}
}

func TestInheritedMask(t *testing.T) {
	f := newFixture(t)
	argv := []string{"/bin/sh", "-c", `trap "" HUP; exec ` + imageOf(t)}
	p, err := os.StartProcess("/bin/sh", argv, &os.ProcAttr{})
	if err != nil {
		t.Fatal(err)
	}
	pid := wire.PID(p.Pid)
	eventually(t, "exec of the image", func() bool {
		exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		return exe == imageOf(t)
	})
	f.must(t, &wire.GhostAdopt{PID: pid, Parent: wire.PID(os.Getpid())})
	if err := unix.Kill(int(pid), unix.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if sig, _ := f.signal(t, pid); sig != unix.SIGHUP {
		t.Errorf("got %v", sig)
	}
	if st := f.end(t, pid, wire.SignalStatus(int(unix.SIGHUP))); st.Signal() != unix.SIGHUP {
		t.Errorf("a ghost that ignores SIGHUP ended with %#x", st)
	}
}

func TestFork(t *testing.T) {
	f := newFixture(t)
	parent := f.ghost(t, nobody, "sh")
	next := wire.PID(2000000)
	for _, stopped := range []bool{false, true} {
		if stopped {
			f.stop(t, parent, unix.SIGTSTP)
		}
		f.must(t, &wire.GhostFork{Parent: parent, Child: next})
		if got := statField(t, next, 1); got != parent.String() {
			t.Errorf("parent of %d: %s, want %d", next, got, parent)
		}
		f.must(t, &wire.GhostExec{PID: next, Argv: []string{"/bin/cat", "f"}})
		f.must(t, &wire.GhostFork{Parent: next, Child: next + 1})
		if got := statField(t, next+1, 1); got != next.String() {
			t.Errorf("parent of %d: %s, want %d", next+1, got, next)
		}
		if errno := f.ask(t, &wire.GhostFork{Parent: next, Child: next + 1}); errno != unix.EEXIST {
			t.Errorf("a number twice: %v", errno)
		}
		f.must(t, &wire.GhostJoin{PID: next, PGID: next})
		if got := statField(t, next, 2); got != next.String() {
			t.Errorf("group of %d: %s", next, got)
		}
		f.must(t, &wire.GhostJoin{PID: next + 1, PGID: next + 1, SID: next + 1})
		if got := statField(t, next+1, 3); got != (next + 1).String() {
			t.Errorf("session of %d: %s", next+1, got)
		}
		next += 10
	}
	eventually(t, "the parent stopped again", func() bool { s := statField(t, parent, 0); return s == "T" || s == "t" })
	var st unix.WaitStatus
	if got, err := unix.Wait4(int(parent), &st, unix.WNOHANG|unix.WUNTRACED|unix.WCONTINUED, nil); got != 0 || err != nil {
		t.Errorf("the parent's parent was told %#x of what the keeper did, %v", st, err)
	}
	// The kernel reaps a ghost's children.
	for _, pid := range []wire.PID{2000001, 2000000, 2000011, 2000010} {
		if err := wire.Write(f.client, 0, &wire.GhostExit{PID: pid}); err != nil {
			t.Fatal(err)
		}
		f.gone(t, pid)
		eventually(t, "reaped", func() bool { return statField(t, pid, 0) == "gone" })
	}
	f.end(t, parent, 0)
}

// Realtime signals queue, so their number must be exact, whatever the keeper does with the ghost at
// the same time.
func TestSignalsWhileForking(t *testing.T) {
	f := newFixture(t)
	parent := f.ghost(t, nobody, "sh")
	const count = 300
	sent := make(chan error, 1)
	go func() {
		for i := range count {
			if err := queueSignal(parent, unix.Signal(40), uint64(i)); err != nil {
				sent <- err
				return
			}
			time.Sleep(100 * time.Microsecond)
		}
		sent <- nil
	}()
	for i := range wire.PID(200) {
		f.must(t, &wire.GhostFork{Parent: parent, Child: 3000000 + i})
		if err := wire.Write(f.client, 0, &wire.GhostExit{PID: 3000000 + i}); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	for i := range count {
		if sig, info := f.signal(t, parent); sig != 40 || info.value() != uint64(i) {
			t.Fatalf("signal %d with value %d, want value %d", sig, info.value(), i)
		}
	}
	for i := range wire.PID(200) {
		f.gone(t, 3000000+i)
	}
	f.end(t, parent, 0)
}

func TestNextMaster(t *testing.T) {
	f := newFixture(t)
	pid := f.ghost(t, 0, "g")
	killed := f.ghost(t, 0, "k")
	if err := unix.Kill(int(killed), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	f.signal(t, killed)
	f.client.Close()
	for i := range 10 {
		if err := queueSignal(pid, unix.Signal(50), uint64(i)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "signals taken", func() bool {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		return strings.Contains(string(text), "SigPnd:\t0000000000000000") && strings.Contains(string(text), "ShdPnd:\t0000000000000000")
	})
	f.connect(t)
	if held := f.client.Held(); len(held) != 2 {
		t.Errorf("held %v", held)
	}
	if k := f.client.Killed(); len(k) != 1 || k[0] != killed {
		t.Errorf("killed %v, want %d", k, killed)
	}
	for i := range 10 {
		if _, info := f.signal(t, pid); info.value() != uint64(i) {
			t.Errorf("value %d, want %d", info.value(), i)
		}
	}
	f.end(t, pid, 0)
	f.end(t, killed, 0)
}

// TestNoDescriptors lets the keeper have no descriptor for the next master. The present one is
// served meanwhile, and the next one when there are descriptors again.
func TestNoDescriptors(t *testing.T) {
	f := newFixture(t)
	pid := f.ghost(t, 0, "g")
	var usual unix.Rlimit
	keeper := f.keeper.Process.Pid
	if err := unix.Prlimit(keeper, unix.RLIMIT_NOFILE, nil, &usual); err != nil {
		t.Fatal(err)
	}
	if err := unix.Prlimit(keeper, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1, Max: usual.Max}, nil); err != nil {
		t.Fatal(err)
	}
	next, err := net.Dial("unix", f.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	for range 100 { // the keeper tries to accept meanwhile
		if errno := f.ask(t, &wire.GhostSync{PID: 4000000}); errno != unix.ESRCH {
			t.Fatalf("a request for no ghost: %v, want %v", errno, unix.ESRCH)
		}
	}
	if err := unix.Prlimit(keeper, unix.RLIMIT_NOFILE, &usual, nil); err != nil {
		t.Fatal(err)
	}
	next.Close()
	f.nextMaster(t)
	if held := f.client.Held(); len(held) != 1 {
		t.Errorf("held %v, want %d", held, pid)
	}
	f.end(t, pid, 0)
}
