package pid1_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/pidmap"
	"bproc/slave/pid1/rights"
	"bproc/slave/pid1/standin"
	"bproc/test/limit"
	"bproc/wire"
)

// patience is how long a test waits for what must happen.
var patience = limit.Scaled(60 * time.Second)

// space is an init in namespaces of its own, with the connection of a daemon. All calls that the
// filter intercepts go on, as if a daemon decided so.
type space struct {
	tb   testing.TB
	init *exec.Cmd
	proc string // the directory of the space's /proc
	sock string
	conn *rights.Conn
	last uint64

	cursor int // takes orders about the cursor

	ready    *wire.InitReady  // what the connection began with
	stored   map[string][]int // descriptors, closed in the end
	launched map[wire.PID]*wire.InitLaunched
	statuses map[wire.PID][]unix.WaitStatus
	done     map[uint64]unix.Errno
}

func newSpace(tb testing.TB) *space {
	tb.Helper()
	if os.Geteuid() != 0 {
		tb.Fatal("needs root")
	}
	s := &space{tb: tb, sock: filepath.Join(tb.TempDir(), "sock")}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: s.sock, Net: "unix"})
	if err != nil {
		tb.Fatal(err)
	}
	listener, err := l.File()
	if err != nil {
		tb.Fatal(err)
	}
	s.init = exec.Command("/bin/sh", "-c", `mount -t proc proc /proc && exec "$0" "$@"`, bpinit, "0", "0")
	s.init.Stderr = os.Stderr
	s.init.ExtraFiles = []*os.File{listener}
	s.init.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID, Unshareflags: unix.CLONE_NEWNS, Setsid: true, Pdeathsig: unix.SIGKILL}
	if err := s.init.Start(); err != nil {
		tb.Fatal(err)
	}
	listener.Close()
	l.SetUnlinkOnClose(false)
	l.Close()
	tb.Cleanup(func() {
		_ = s.init.Process.Kill()
		_ = s.init.Wait() // it was killed
	})
	s.proc = fmt.Sprintf("/proc/%d/root/proc", s.init.Process.Pid)
	s.connect()
	return s
}

// connect becomes the daemon.
func (s *space) connect() {
	s.tb.Helper()
	s.connectBy(s.dial())
}

func (s *space) dial() *net.UnixConn {
	s.tb.Helper()
	sock, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: s.sock, Net: "unix"})
	if err != nil {
		s.tb.Fatal(err)
	}
	return sock
}

// connectBy becomes the daemon, with a socket.
func (s *space) connectBy(sock *net.UnixConn) {
	s.tb.Helper()
	s.launched = make(map[wire.PID]*wire.InitLaunched)
	s.statuses = make(map[wire.PID][]unix.WaitStatus)
	s.done = make(map[uint64]unix.Errno)
	var err error
	if s.conn, err = rights.New(sock); err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(func() { _ = s.conn.Close() })
	_ = s.conn.SetReadDeadline(time.Now().Add(patience))
	m, _, fds, err := s.conn.Read()
	if err != nil {
		s.tb.Fatal(err)
	}
	ready, ok := m.(*wire.InitReady)
	if !ok || len(fds) != 3 {
		s.tb.Fatalf("first frame: %T with %d descriptors", m, len(fds))
	}
	s.ready = ready
	unix.Close(fds[1])
	s.cursor = fds[2]
	s.tb.Cleanup(func() { unix.Close(fds[2]) })
	go goOn(fds[0])
	s.stored = make(map[string][]int)
	for range ready.Stored {
		m, _, fds, err := s.conn.Read()
		if err != nil {
			s.tb.Fatal(err)
		}
		s.stored[m.(*wire.InitStored).Name] = fds
		s.tb.Cleanup(func() { rights.Close(fds) })
	}
}

// goOn lets all system calls pass that the filter intercepts.
func goOn(listener int) {
	defer unix.Close(listener)
	for {
		var n struct { // struct seccomp_notif
			id         uint64
			pid, flags uint32
			data       [64]byte
		}
		r := struct { // struct seccomp_notif_resp
			id    uint64
			val   int64
			error int32
			flags uint32
		}{}
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV, address(&n))
		switch errno {
		case 0:
		case unix.EINTR, unix.ENOENT:
			// ENOENT is also what kernels that do not block return, without end, when no process is
			// left.
			fds := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
			if n, err := unix.Poll(fds, 0); err == nil && n == 1 && fds[0].Revents&unix.POLLHUP != 0 {
				return
			}
			continue
		default:
			return
		}
		r.id, r.flags = n.id, unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
		for errno = unix.EINTR; errno == unix.EINTR; {
			_, _, errno = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SEND, address(&r))
		}
	}
}

// await reads init's messages until a condition holds.
func (s *space) await(what string, holds func() bool) {
	s.tb.Helper()
	_ = s.conn.SetReadDeadline(time.Now().Add(patience))
	for !holds() {
		m, number, fds, err := s.conn.Read()
		if err != nil {
			s.tb.Fatalf("await %s: %v", what, err)
		}
		rights.Close(fds)
		switch m := m.(type) {
		case *wire.InitLaunched:
			s.launched[m.PID] = m
		case *wire.InitStatus:
			s.statuses[m.PID] = append(s.statuses[m.PID], unix.WaitStatus(m.Status))
		case *wire.InitDone:
			s.done[number] = unix.Errno(m.Errno)
		default:
			s.tb.Fatalf("init sent %T", m)
		}
	}
}

func (s *space) send(m wire.Message, fds ...int) uint64 {
	s.tb.Helper()
	s.last++
	if err := s.conn.Write(s.last, m, fds...); err != nil {
		s.tb.Fatal(err)
	}
	return s.last
}

// ask sends a request that InitDone answers.
func (s *space) ask(m wire.Message) unix.Errno {
	s.tb.Helper()
	number := s.send(m)
	s.await("answer", func() bool { _, ok := s.done[number]; return ok })
	return s.done[number]
}

// begin asks for a process.
func (s *space) begin(sp *wire.Spawn, fds ...int) {
	s.tb.Helper()
	delete(s.launched, sp.PID)
	delete(s.statuses, sp.PID)
	s.send(&wire.InitLaunch{Spawn: *sp}, fds...)
}

func (s *space) answered(pid wire.PID) *wire.InitLaunched {
	s.tb.Helper()
	s.await("launch of "+pid.String(), func() bool { return s.launched[pid] != nil })
	return s.launched[pid]
}

// launch starts a process and waits for the answer.
func (s *space) launch(sp *wire.Spawn, fds ...int) {
	s.tb.Helper()
	s.begin(sp, fds...)
	if m := s.answered(sp.PID); m.Stage != 0 {
		s.tb.Fatalf("launch of %d %q: stage %d, %v", sp.PID, sp.Command.Argv, m.Stage, unix.Errno(m.Errno))
	}
}

func (s *space) awaitStatus(pid wire.PID, ok func(unix.WaitStatus) bool) (status unix.WaitStatus) {
	s.tb.Helper()
	s.await("status of "+pid.String(), func() bool {
		for _, status = range s.statuses[pid] {
			if ok(status) {
				return true
			}
		}
		return false
	})
	return status
}

func over(s unix.WaitStatus) bool { return s.Exited() || s.Signaled() }

// kill ends a process and waits for that.
func (s *space) kill(pid wire.PID) {
	s.tb.Helper()
	s.signal(pid, unix.SIGKILL)
	s.awaitStatus(pid, over)
}

func (s *space) signal(pid wire.PID, signo unix.Signal) {
	s.tb.Helper()
	s.signalNumbered(pid, signo, 0)
}

func (s *space) signalNumbered(pid wire.PID, signo unix.Signal, seq uint64) {
	s.tb.Helper()
	info := make([]byte, 128)
	binary.NativeEndian.PutUint32(info, uint32(signo))
	s.send(&wire.InitSignal{PID: pid, Info: info, Seq: seq})
}

// output runs a process and returns what it wrote.
func (s *space) output(sp *wire.Spawn) string {
	s.tb.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		s.tb.Fatal(err)
	}
	defer r.Close()
	sp.Command.Stdio[1] = wire.Descriptor{Mode: wire.DescriptorStream}
	s.launch(sp, int(w.Fd()))
	w.Close()
	s.awaitStatus(sp.PID, over)
	_ = r.SetReadDeadline(time.Now().Add(patience))
	var text bytes.Buffer
	if _, err := text.ReadFrom(r); err != nil {
		s.tb.Fatal(err)
	}
	return text.String()
}

// command returns a process of root, in a group and a session of the front end.
func command(pid, pgid, sid wire.PID, argv ...string) *wire.Spawn {
	return &wire.Spawn{PID: pid, Parent: 4711, PGID: pgid, SID: sid, Command: wire.Command{
		Argv: argv, Env: []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}, Dir: "/", Umask: 0o022,
	}}
}

// kinship is what the space's kernel shows of a process.
type kinship struct{ parent, pgid, sid wire.PID }

func (s *space) kinship(pid wire.PID) kinship {
	s.tb.Helper()
	stat, err := os.ReadFile(filepath.Join(s.proc, pid.String(), "stat"))
	if err != nil {
		s.tb.Fatal(err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+2:]))
	var n [3]wire.PID
	for i := range n {
		v, err := strconv.Atoi(fields[1+i])
		if err != nil {
			s.tb.Fatal(err)
		}
		n[i] = wire.PID(v)
	}
	return kinship{n[0], n[1], n[2]}
}

// standins returns the numbers of the stand-ins, those between the zones separately.
func (s *space) standins() (numbers, between []wire.PID) {
	s.tb.Helper()
	entries, err := os.ReadDir(s.proc)
	if err != nil {
		s.tb.Fatal(err)
	}
	for _, e := range entries {
		n, err := strconv.Atoi(e.Name())
		if err != nil || !standin.Is(s.proc, wire.PID(n)) {
			continue
		}
		if pid := wire.PID(n); pid >= pidmap.LocalEnd {
			between = append(between, pid)
		} else {
			numbers = append(numbers, pid)
		}
	}
	return numbers, between
}
