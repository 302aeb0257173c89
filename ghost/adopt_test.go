package ghost

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/internal/outbox"
	"bproc/wire"
)

// TestAdoptKilled adopts a ghost that has blocked a signal and gets SIGKILL as soon as it is seized: either it is held, and its
// end is reported, or it is not held.
func TestAdoptKilled(t *testing.T) {
	runtime.LockOSThread()
	s := lone(t)
	cmd := exec.Command("python3", "-c", "import signal, os, sys; signal.pthread_sigmask(signal.SIG_BLOCK, [10]); os.execv(sys.argv[1], ['blocks'])", imageOf(t))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := wire.PID(cmd.Process.Pid)
	awaitImage(t, pid, imageOf(t))
	if err := unix.Kill(int(pid), unix.SIGSTOP); err != nil { // so that it does not stop for its tracer at once
		t.Fatal(err)
	}
	eventually(t, "its stop", func() bool { return statField(t, pid, 0) == "T" }) // its keeper would be told of the signal otherwise
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		eventually(t, "it is seized", func() bool { st, err := readStatus(pid); return err != nil || st.tracer != 0 })
		_ = unix.Kill(int(pid), unix.SIGKILL)
	}()
	err := s.adopt(&wire.GhostAdopt{PID: pid, Parent: wire.PID(os.Getpid())})
	<-killed
	g := s.ghosts[pid]
	switch {
	case err != nil && g != nil:
		t.Errorf("got %v, and the ghost is held", err)
	case g != nil:
		eventually(t, "the stop at its exit", func() bool { s.poll(t); return g.killed })
		s.says(t, fmt.Sprintf("signal 9 to %d", pid))
	}
	if g != nil {
		s.end(t, g, wire.ExitStatus(0))
	}
	_ = cmd.Wait()
}

// TestManyGroups adopts ghosts of users in so many groups that their status is long.
func TestManyGroups(t *testing.T) {
	s := lone(t)
	for _, n := range []int{0, 600, 680, 700, 5000, 65536} {
		groups := make([]uint32, n)
		for i := range groups {
			groups[i] = 1234500000 + uint32(i)
		}
		slices.Sort(groups)
		p, err := os.StartProcess(imageOf(t), []string{"groups"}, &os.ProcAttr{Env: []string{}, Sys: &unix.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody, Groups: groups}}})
		if err != nil {
			t.Fatal(err)
		}
		pid := wire.PID(p.Pid)
		awaitImage(t, pid, imageOf(t))
		opened, err := openProcess(pid)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.rules.check(opened, &wire.GhostAdopt{PID: pid, Parent: wire.PID(os.Getpid()), UID: nobody}); err != nil {
			t.Errorf("%d groups: %v", n, err)
		}
		opened.close()
		_ = p.Kill()
		_, _ = p.Wait()
	}
}

// TestEndingKeeper has a request come while the keeper ends: it is left to the next one, and is refused otherwise.
func TestEndingKeeper(t *testing.T) {
	for _, ending := range []bool{false, true} {
		s := lone(t)
		s.queue.end()
		s.events.out, s.events.masters = outbox.New(func() {}), 1
		s.events.out.Open()
		k := &Keeper{shards: []*shard{s}, owners: s.owners, events: s.events, log: s.log}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if ending {
			cancel()
		}
		var from bytes.Buffer
		if err := wire.Write(&from, 7, &wire.GhostAdopt{PID: 4242, Parent: 1}); err != nil {
			t.Fatal(err)
		}
		err := k.requests(ctx, 1, wire.NewReader(&from))
		if is := errors.Is(err, context.Canceled); is != ending {
			t.Errorf("ending: %v, requests: %v", ending, err)
		}
		if answered := len(s.events.out.Close()) > 0; answered == ending {
			t.Errorf("ending: %v, answered: %v", ending, answered)
		}
	}
}

// TestFullQueue has a request refused: the ghost that it would have made is not known then.
func TestFullQueue(t *testing.T) {
	s := lone(t)
	k := &Keeper{shards: []*shard{s}, owners: s.owners, events: s.events, log: s.log}
	s.queue.hangs = true
	for range maxRequests + 1 {
		_ = s.queue.put(request{})
	}
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	if err := wire.Write(to, 1, &wire.GhostAdopt{PID: 4242, Parent: 1}); err != nil {
		t.Fatal(err)
	}
	to.Close()
	_ = k.requests(t.Context(), 1, wire.NewReader(from)) // until the end of the file
	if held := s.owners.list().Held; len(held) > 0 {
		t.Errorf("%v is listed", held)
	}
}
