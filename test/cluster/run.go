package cluster

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/oldkernel"
	"bproc/internal/ownthread"
	"bproc/test/limit"
)

// namespaces are each machine's own. The machine makes that for control groups itself, after it has
// entered them; commands enter it last (enter.go).
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC

const (
	// askTimeout is how long PID 1 of a machine may take to answer. It does nothing that takes
	// long; making a machine consists of mounts.
	askTimeout = time.Minute
	// callTimeout is how long the thread in a machine's namespaces may be busy.
	callTimeout = time.Minute
)

// run is a machine from boot to power off.
type run struct {
	pid     int // of PID 1, on the host
	pidfd   int
	init    *exec.Cmd
	old     bool     // commands see an old kernel
	systemd bool     // systemd is PID 1
	leaf    *os.File // control group for commands in the version 2 hierarchy; nil if there is none
	view    *os.File // cgroup namespace
	entry   string   // program by which commands enter it

	console *console // of systemd

	calls   chan func() // for the thread in the namespaces
	stopped chan struct{}

	askMu sync.Mutex // one request at a time
	conn  net.Conn

	mu   sync.Mutex
	cmds map[*Cmd]struct{} // started and not waited for
}

func startRun(m *Machine) (*run, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	log, err := os.OpenFile(filepath.Join(m.logDir(), "machine.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	entry, err := enterProgram()
	if err != nil {
		return nil, err
	}
	r := &run{
		calls: make(chan func()), stopped: make(chan struct{}),
		conn: ours, cmds: map[*Cmd]struct{}{}, pidfd: -1,
		old: m.cluster.config.OldKernel, systemd: m.cluster.config.Systemd, entry: entry,
	}
	r.init = &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{machineArg0}, Dir: "/",
		Env: []string{"GOMAXPROCS=1"}, Stderr: log, ExtraFiles: []*os.File{theirs},
		SysProcAttr: &syscall.SysProcAttr{Cloneflags: namespaces, Setsid: true, PidFD: &r.pidfd},
	}
	if err := r.init.Start(); err != nil {
		return nil, err
	}
	r.pid = r.init.Process.Pid
	if err := r.setUp(m); err != nil {
		return nil, errors.Join(err, r.stop())
	}
	return r, nil
}

func (r *run) setUp(m *Machine) error {
	setup := machineSetup{Name: m.Name, Hosts: m.cluster.hosts(), Prefix: m.cluster.prefix, State: m.stateDir(), Again: m.again}
	dirs := m.cluster.site.groupDirs(m.group)
	for i, h := range m.cluster.site.groups {
		setup.Groups = append(setup.Groups, machineGroup{hierarchy: h, Dir: dirs[i]})
	}
	boot := r.boot
	if r.systemd {
		boot = r.bootSystemd
	}
	if err := boot(m, setup); err != nil {
		return err
	}
	if err := r.openLeaf(setup.Groups); err != nil {
		return err
	}
	var err error
	if r.view, err = os.Open(fmt.Sprintf("/proc/%d/ns/cgroup", r.pid)); err != nil {
		return err
	}
	inside := make(chan error)
	ownthread.Go(func() { r.serve(setup.Groups, inside) })
	return <-inside
}

// boot makes PID 1 make the machine.
func (r *run) boot(_ *Machine, setup machineSetup) error {
	rep, err := r.ask(setup)
	if err == nil && rep.Err != "" {
		err = errors.New(rep.Err)
	}
	return err
}

func (r *run) openLeaf(groups []machineGroup) (err error) {
	for _, g := range groups {
		if g.V2 {
			r.leaf, err = os.Open(filepath.Join(g.Dir, leafGroup))
		}
	}
	return err
}

// serve is the thread in the machine's namespaces, except that for control groups. It never returns
// to the host's.
func (r *run) serve(groups []machineGroup, inside chan<- error) {
	if err := r.enter(groups); err != nil {
		inside <- err
		return
	}
	inside <- nil
	for {
		select {
		case f := <-r.calls:
			f()
		case <-r.stopped:
			return
		}
	}
}

func (r *run) enter(groups []machineGroup) error {
	for _, g := range groups {
		if g.V2 {
			continue // no single threads there; children are cloned into the leaf
		}
		dir := g.Dir
		if r.systemd {
			dir = filepath.Join(dir, leafGroup)
		}
		if err := os.WriteFile(filepath.Join(dir, "tasks"), []byte(fmt.Sprint(unix.Gettid())), 0); err != nil {
			return fmt.Errorf("enter control group: %w", err)
		}
	}
	// A thread that shares its root and working directory cannot change its mount namespace
	// (setns(2)).
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("unshare root directory: %w", err)
	}
	if err := unix.Setns(r.pidfd, namespaces); err != nil {
		return fmt.Errorf("enter namespaces: %w", err)
	}
	if r.old {
		return oldkernel.Enter()
	}
	return nil
}

// do runs f on the thread in the machine's namespaces.
func (r *run) do(f func() error) error {
	done := make(chan error, 1)
	timeout := time.NewTimer(limit.Scaled(callTimeout))
	defer timeout.Stop()
	select {
	case r.calls <- func() { done <- f() }:
	case <-r.stopped:
		return ErrOff
	case <-timeout.C:
		return fmt.Errorf("the machine's thread is busy for %v", limit.Scaled(callTimeout))
	}
	select {
	case err := <-done:
		return err
	case <-timeout.C:
		return fmt.Errorf("the machine's thread is not done after %v", limit.Scaled(callTimeout))
	}
}

// ask sends PID 1 a request and returns its answer.
func (r *run) ask(request any) (machineReply, error) {
	r.askMu.Lock()
	defer r.askMu.Unlock()
	var rep machineReply
	if err := r.conn.SetDeadline(time.Now().Add(limit.Scaled(askTimeout))); err != nil {
		return rep, err
	}
	if err := send(r.conn, request); err != nil {
		return rep, err
	}
	return rep, receive(r.conn, &rep)
}

// stop ends PID 1, and with it everything in the machine.
func (r *run) stop() error {
	close(r.stopped)
	_ = r.init.Process.Kill() // it may have ended, as wanted
	// The kernel holds PID 1 until all processes of its namespace were waited for. This process
	// must wait for those that the thread has started.
	r.mu.Lock()
	cmds := r.cmds
	r.cmds = nil
	r.mu.Unlock()
	err := within(limit.Scaled(killTimeout), "end of all processes after SIGKILL", func() error {
		for c := range cmds {
			_ = c.Wait() // killed
		}
		_ = r.init.Wait() // killed
		return nil
	})
	r.conn.Close()
	if r.console != nil {
		r.console.close()
	}
	for _, f := range []*os.File{r.leaf, r.view} {
		if f != nil {
			f.Close()
		}
	}
	if r.pidfd >= 0 {
		err = errors.Join(err, unix.Close(r.pidfd))
	}
	return err
}

// track records a started command until it was waited for. It reports whether the machine still
// runs.
func (r *run) track(c *Cmd) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cmds == nil {
		return false
	}
	r.cmds[c] = struct{}{}
	return true
}

func (r *run) forget(c *Cmd) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.cmds, c)
}

// socketPair returns a connection and the descriptor of its other end, for the child. It keeps
// message boundaries.
func socketPair() (net.Conn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "control"), os.NewFile(uintptr(fds[1]), "control")
	defer ours.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return conn, theirs, nil
}
