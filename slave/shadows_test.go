package slave

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// shadowsFixture makes shadows without init: each has a PID namespace of its own.
type shadowsFixture struct {
	*shadows
	made    int
	ended   chan error
	dropped chan string
}

func newShadowsFixture(t *testing.T) *shadowsFixture {
	f := &shadowsFixture{shadows: newShadows(slog.New(slog.DiscardHandler)), ended: make(chan error), dropped: make(chan string, 10)}
	f.make = func(context.Context, wire.PID, uint32) (*os.File, error) {
		f.made++
		return inSpace(t), nil
	}
	f.drop = func(name string) { f.dropped <- name }
	f.ends = func(ctx context.Context, _ wire.PID) error {
		select {
		case err := <-f.ended:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	t.Cleanup(f.close)
	return f
}

// inSpace starts a process in a PID namespace and returns a descriptor of it.
func inSpace(t *testing.T) *os.File {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID, Pdeathsig: unix.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	fd, err := unix.PidfdOpen(cmd.Process.Pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), "shadow")
}

func (f *shadowsFixture) runs(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() { defer close(over); _ = f.run(ctx) }()
	t.Cleanup(func() { cancel(); <-over })
}

func hasEnded(t *testing.T, f *os.File, wait time.Duration) bool {
	t.Helper()
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}, int(wait.Milliseconds()))
	if err != nil {
		t.Fatal(err)
	}
	return n > 0
}

// A shadow is made once, however often it is opened, and ends with its process. An error is not
// taken for the end of the process.
func TestShadowEnds(t *testing.T) {
	f := newShadowsFixture(t)
	var opened []*os.File
	for _, flags := range []int{0, unix.PIDFD_NONBLOCK} {
		file, err := f.open(t.Context(), 4711, 1000, flags)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		opened = append(opened, file)
	}
	if f.made != 1 {
		t.Errorf("%d shadows were made", f.made)
	}
	if pid, ok := f.shadowed(1); pid != 4711 || !ok {
		t.Errorf("it stands for %d, %v", pid, ok)
	}
	f.runs(t)
	f.ended <- errors.New("no descriptors")
	if hasEnded(t, opened[0], 0) {
		t.Error("it has ended before its process")
	}
	f.ended <- nil
	for _, file := range opened {
		if !hasEnded(t, file, 15*time.Second) {
			t.Error("it has not ended with its process")
		}
	}
	if name := <-f.dropped; name != "shadow 4711 1000" {
		t.Errorf("dropped %q", name)
	}
	f.making.Lock() // the end is complete
	defer f.making.Unlock()
	if pid, ok := f.shadowed(1); ok {
		t.Errorf("afterwards it stands for %d", pid)
	}
}

// A shadow that was killed with all processes of the space is made again.
func TestShadowKilled(t *testing.T) {
	f := newShadowsFixture(t)
	for i := range 2 {
		file, err := f.open(t.Context(), 4711, 1000, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if f.made != i+1 || hasEnded(t, file, 0) {
			t.Fatalf("made %d, ended %v", f.made, hasEnded(t, file, 0))
		}
		if err := unix.PidfdSendSignal(int(file.Fd()), unix.SIGKILL, nil, 0); err != nil {
			t.Fatal(err)
		}
		if !hasEnded(t, file, 15*time.Second) {
			t.Fatal("it does not end")
		}
	}
}

// A shadow whose requester has not waited for it ends as any other.
func TestShadowOfOneWhoLeft(t *testing.T) {
	f := newShadowsFixture(t)
	f.make = func(ctx context.Context, _ wire.PID, _ uint32) (*os.File, error) {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		return inSpace(t), nil
	}
	left, leave := context.WithCancel(t.Context())
	leave()
	if _, err := f.open(left, 4711, 1000, 0); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	f.runs(t)
	f.ended <- nil
	if name := <-f.dropped; name != "shadow 4711 1000" {
		t.Errorf("dropped %q", name)
	}
}

// TestNobodyTakesAllShadows has a user request descriptors of as many processes as possible. Others
// get some, too, before and after a restart of the daemon.
func TestNobodyTakesAllShadows(t *testing.T) {
	const greedy, other = 1000, 1001
	f := newShadowsFixture(t)
	null := inSpace(t)
	defer null.Close()
	open := func(f *shadowsFixture, pid wire.PID, user uint32) error {
		opened, err := f.open(t.Context(), pid, user, 0)
		if err == nil {
			_ = opened.Close()
		}
		return err
	}
	kept := map[string][]*os.File{}
	f.make = func(_ context.Context, pid wire.PID, user uint32) (*os.File, error) {
		fds := [2]*os.File{}
		for i := range fds {
			fd, err := unix.FcntlInt(null.Fd(), unix.F_DUPFD_CLOEXEC, 0)
			if err != nil {
				return nil, err
			}
			fds[i] = os.NewFile(uintptr(fd), "shadow")
		}
		kept[fmt.Sprintf("shadow %d %d", pid, user)] = fds[:1]
		return fds[1], nil
	}
	made := wire.PID(0)
	var err error
	for ; made < maxShadows && err == nil; made++ {
		err = open(f, 4000+made, greedy)
	}
	if !errors.Is(err, unix.ENFILE) || made != maxShadows/2+1 {
		t.Errorf("the descriptor %d of one user: %v, want %v", made, err, unix.ENFILE)
	}
	if err := open(f, 4000, greedy); err != nil {
		t.Errorf("of a process of which there is one: %v", err)
	}
	if err := open(f, 9000, other); err != nil {
		t.Errorf("another user: %v", err)
	}
	next := newShadowsFixture(t)
	next.make = f.make
	next.resume(kept)
	if len(next.of) != maxShadows/2+1 {
		t.Errorf("the next daemon goes on with %d", len(next.of))
	}
	if err := open(next, 9001, greedy); !errors.Is(err, unix.ENFILE) {
		t.Errorf("one more after a restart: %v, want %v", err, unix.ENFILE)
	}
	if err := open(next, 9002, other); err != nil {
		t.Errorf("another user after a restart: %v", err)
	}
}

// The daemon goes on with the shadows of a former one, or drops them.
func TestShadowsOfFormerDaemon(t *testing.T) {
	f := newShadowsFixture(t)
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string][]*os.File{
		"shadow 4711 1000": {inSpace(t)}, "shadow 4712 1000": {null}, "shadow 4713": {inSpace(t)}, "shadow ": nil, "journal": nil,
	}
	f.resume(kept)
	if len(kept) != 1 || len(f.of) != 2 || f.of[4711] == nil || f.of[4713] == nil {
		t.Errorf("left %v, gone on with %v", kept, f.of)
	}
	go func() { f.ended <- nil }()
	f.follow(t.Context(), 4713) // init keeps it under this name to the end
	close(f.dropped)
	dropped := map[string]bool{}
	for name := range f.dropped {
		dropped[name] = true
	}
	if want := map[string]bool{"shadow 4712 1000": true, "shadow ": true, "shadow 4713": true}; fmt.Sprint(dropped) != fmt.Sprint(want) {
		t.Errorf("dropped %v, want %v", dropped, want)
	}
	f.drop = func(string) {}
}
