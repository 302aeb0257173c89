package ghost

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/limit"
	"bproc/wire"
)

// patience bounds every wait of a test.
var patience = limit.Scaled(60 * time.Second)

// fixture is a keeper and a master's connection to it.
type fixture struct {
	socket string
	keeper *exec.Cmd
	client *Client
	number uint64
	next   wire.PID // numbers of children

	mu     sync.Mutex
	events []event
	more   chan struct{}
	ended  chan struct{} // closed when this connection has no more events
}

type event struct {
	number uint64
	msg    wire.Message
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	return keeperAt(t, filepath.Join(t.TempDir(), "keeper.sock"))
}

// keeperAt starts a keeper for a socket, which may have had another one.
func keeperAt(t testing.TB, socket string) *fixture {
	t.Helper()
	image := imageOf(t)
	f := &fixture{socket: socket, more: make(chan struct{}, 1)}
	f.keeper = exec.Command("/proc/self/exe")
	f.keeper.Env = append(os.Environ(), "GHOST_TEST_KEEPER="+socket, "GHOST_TEST_IMAGE="+image)
	f.keeper.Stdout, f.keeper.Stderr = os.Stdout, os.Stderr
	if err := f.keeper.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.stopKeeper(t) })
	f.connect(t)
	return f
}

// stopKeeper ends the keeper, if it still runs.
func (f *fixture) stopKeeper(t testing.TB) {
	t.Helper()
	if f.keeper == nil {
		return
	}
	if err := f.keeper.Process.Signal(unix.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := f.keeper.Wait(); err != nil {
		t.Errorf("keeper: %v", err)
	}
	f.keeper = nil
}

// connect makes a new connection as a master.
func (f *fixture) connect(t testing.TB) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		c, err := Dial(f.socket)
		if err == nil {
			f.client = c
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	c, ended := f.client, make(chan struct{})
	f.ended = ended
	t.Cleanup(func() { c.Close(); <-ended })
	go func() {
		defer close(ended)
		for {
			msg, number, err := c.Recv()
			if err != nil {
				return
			}
			f.mu.Lock()
			f.events = append(f.events, event{number, msg})
			f.mu.Unlock()
			select {
			case f.more <- struct{}{}:
			default:
			}
		}
	}()
}

// nextMaster makes a connection that replaces the previous one, and drops the events of that.
func (f *fixture) nextMaster(t testing.TB) {
	t.Helper()
	f.client.Close()
	<-f.ended
	f.events = nil
	f.connect(t)
}

// take waits for the first event that match accepts, and removes it.
func (f *fixture) take(t testing.TB, what string, match func(event) bool) event {
	t.Helper()
	deadline := time.After(patience)
	for {
		f.mu.Lock()
		for i, e := range f.events {
			if match(e) {
				f.events = append(f.events[:i:i], f.events[i+1:]...)
				f.mu.Unlock()
				return e
			}
		}
		f.mu.Unlock()
		select {
		case <-f.more:
		case <-deadline:
			t.Fatalf("no %s", what)
		}
	}
}

// ask sends a request and returns the answer.
func (f *fixture) ask(t testing.TB, m wire.Message) unix.Errno {
	t.Helper()
	f.number++
	number := f.number
	if err := wire.Write(f.client, number, m); err != nil {
		t.Fatal(err)
	}
	e := f.take(t, fmt.Sprintf("answer to %T", m), func(e event) bool {
		_, ok := e.msg.(*wire.GhostDone)
		return ok && e.number == number
	})
	return unix.Errno(e.msg.(*wire.GhostDone).Errno)
}

func (f *fixture) must(t testing.TB, m wire.Message) {
	t.Helper()
	if errno := f.ask(t, m); errno != 0 {
		t.Fatalf("%T: %v", m, errno)
	}
}

// signal waits for a report of a signal for a ghost.
func (f *fixture) signal(t testing.TB, pid wire.PID) (unix.Signal, *siginfo) {
	t.Helper()
	e := f.take(t, fmt.Sprintf("signal to ghost %d", pid), func(e event) bool {
		s, ok := e.msg.(*wire.GhostSignal)
		return ok && s.PID == pid
	})
	info := (*siginfo)(e.msg.(*wire.GhostSignal).Info)
	return info.signal(), info
}

func (f *fixture) gone(t testing.TB, pid wire.PID) *wire.GhostGone {
	t.Helper()
	return f.take(t, fmt.Sprintf("end of ghost %d", pid), func(e event) bool {
		g, ok := e.msg.(*wire.GhostGone)
		return ok && g.PID == pid
	}).msg.(*wire.GhostGone)
}

// formerly makes a ghost that looks as if a keeper had held it before.
func formerly(t testing.TB, uid uint32, argv ...string) wire.PID {
	t.Helper()
	pid := start(t, uid, argv...)
	if err := markHeld(pid, false); err != nil {
		t.Fatal(err)
	}
	return pid
}

// start makes a ghost as a client does, a child of the test, and waits until it runs the image.
// Some kernels let a parent go on before that, and only the adoption of a client's child
// ([shard.checkSettled]) waits for it.
func start(t testing.TB, uid uint32, argv ...string) wire.PID {
	t.Helper()
	pid := launch(t, uid, argv...)
	awaitImage(t, pid, imageOf(t))
	return pid
}

// awaitImage waits until a process runs an image.
func awaitImage(t testing.TB, pid wire.PID, path string) {
	t.Helper()
	image, err := inodeOf(unix.AT_FDCWD, path)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "it executes the image", func() bool {
		p, err := openProcess(pid)
		if err != nil {
			return false
		}
		defer p.close()
		now, err := inodeOf(p.dir, "exe")
		return err == nil && now == image && p.hasExecuted()
	})
}

// launch is start without the wait.
func launch(t testing.TB, uid uint32, argv ...string) wire.PID {
	t.Helper()
	attr := &os.ProcAttr{Env: []string{}, Sys: &unix.SysProcAttr{}}
	if uid != 0 {
		attr.Sys.Credential = &unixCredential{Uid: uid, Gid: uid}
	}
	p, err := os.StartProcess(imageOf(t), argv, attr)
	if err != nil {
		t.Fatal(err)
	}
	return wire.PID(p.Pid)
}

// ghost makes a ghost and adopts it.
func (f *fixture) ghost(t testing.TB, uid uint32, argv ...string) wire.PID {
	t.Helper()
	pid := launch(t, uid, argv...)
	f.must(t, &wire.GhostAdopt{PID: pid, Parent: wire.PID(os.Getpid()), UID: uid})
	return pid
}

// end ends a ghost and returns the status that its parent gets.
func (f *fixture) end(t testing.TB, pid wire.PID, status wire.Status) unix.WaitStatus {
	t.Helper()
	if err := wire.Write(f.client, 0, &wire.GhostExit{PID: pid, Status: status}); err != nil {
		t.Fatal(err)
	}
	return wait(t, pid, 0)
}

// wait is the parent's waitpid.
func wait(t testing.TB, pid wire.PID, options int) unix.WaitStatus {
	t.Helper()
	var status unix.WaitStatus
	deadline := time.Now().Add(patience)
	for {
		got, err := unix.Wait4(int(pid), &status, options|unix.WNOHANG, nil)
		if err != nil && err != unix.EINTR {
			t.Fatalf("wait for %d: %v", pid, err)
		}
		if got == int(pid) {
			return status
		}
		if time.Now().After(deadline) {
			t.Fatalf("wait for %d: it is still %s", pid, statField(t, pid, 0))
		}
		time.Sleep(50 * time.Microsecond)
	}
}

// statField returns a field of /proc/PID/stat; 0 is the state.
func statField(t testing.TB, pid wire.PID, n int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "gone"
	}
	return strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))[n]
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

func (s *siginfo) uid() uint32 { return binary.LittleEndian.Uint32(s[offUID:]) }

// sentBy sets the sender and the value of a queued signal.
func (s *siginfo) sentBy(pid wire.PID, uid uint32, value uint64) {
	binary.LittleEndian.PutUint32(s[offPid:], uint32(pid))
	binary.LittleEndian.PutUint32(s[offUID:], uid)
	binary.LittleEndian.PutUint64(s[offValue:], value)
}

// statusField parses the first values of a field of /proc/PID/status.
func statusField(text []byte, name string, base int, values []uint64) error {
	_, rest, ok := bytes.Cut(text, []byte("\n"+name))
	if !ok {
		return fmt.Errorf("process status: no field %s", name)
	}
	return statusValues(rest, base, values)
}
