package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// ErrOff is the error of operations on a machine that is off.
var ErrOff = errors.New("the machine is off")

// Machine is the front end or a node: a computer that can be switched on and off, with a disk
// (/var/lib/bproc) that survives it.
type Machine struct {
	Name string
	Addr netip.Addr

	cluster *Cluster
	group   string // name of its control group
	dir     string // on the host: logs, the disk

	mu      sync.Mutex
	run     *run // nil if it is off
	again   bool // it has been on
	daemons []*Daemon
}

func newMachine(c *Cluster, name string, addr netip.Addr) (*Machine, error) {
	m := &Machine{
		Name: name, Addr: addr, cluster: c,
		group: c.name + "-" + name,
		dir:   filepath.Join(c.dir, name),
	}
	for _, d := range []string{m.stateDir(), m.logDir()} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *Machine) stateDir() string { return filepath.Join(m.dir, "disk") }
func (m *Machine) logDir() string   { return filepath.Join(m.dir, "log") }

// Boot switches the machine on and connects it to the network. It starts no daemon.
func (m *Machine) Boot() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.run != nil {
		return nil
	}
	for _, h := range m.cluster.site.groups {
		if err := m.cluster.site.makeGroup(h, m.group); err != nil {
			return fmt.Errorf("boot %s: %w", m.Name, err)
		}
		if m.cluster.config.Realtime && m != m.cluster.Front {
			if err := m.cluster.site.giveRealtime(h, m.group); err != nil {
				return fmt.Errorf("boot %s: %w", m.Name, err)
			}
		}
	}
	r, err := startRun(m)
	if err != nil {
		return fmt.Errorf("boot %s: %w", m.Name, err)
	}
	if err := m.connect(r); err != nil {
		return fmt.Errorf("boot %s: %w", m.Name, errors.Join(err, r.stop()))
	}
	m.run, m.again = r, true
	return nil
}

func (m *Machine) connect(r *run) error {
	ns, err := unix.Open(fmt.Sprintf("/proc/%d/ns/net", r.pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(ns)
	return m.cluster.network.attach(m.Name, ns, m.Addr)
}

// Off is a power failure: all processes of the machine end at once, without notice to its peers. It
// returns when the kernel has ended them all.
func (m *Machine) Off() error {
	m.mu.Lock()
	r, daemons := m.run, m.daemons
	m.run, m.daemons = nil, nil
	m.mu.Unlock()
	if r == nil {
		return nil
	}
	m.cluster.network.detach(m.Name)
	err := r.stop()
	for _, d := range daemons {
		err = errors.Join(err, d.AwaitEnd())
	}
	for _, dir := range m.cluster.site.groupDirs(m.group) {
		err = errors.Join(err, removeGroup(dir, leakTimeout))
	}
	if err != nil {
		return fmt.Errorf("switch %s off: %w", m.Name, err)
	}
	return nil
}

// Reboot switches the machine off and on. It starts no daemon.
func (m *Machine) Reboot() error {
	if err := m.Off(); err != nil {
		return err
	}
	return m.Boot()
}

// current returns the running machine.
func (m *Machine) current() (*run, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.run == nil {
		return nil, fmt.Errorf("%s: %w", m.Name, ErrOff)
	}
	return m.run, nil
}

// Path returns the name under which this process can open a file of the machine. Absolute symbolic
// links in it lead to the host's files.
func (m *Machine) Path(file string) (string, error) {
	r, err := m.current()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("/proc/%d/root%s", r.pid, file), nil
}

// ReadFile reads a file of the machine.
func (m *Machine) ReadFile(file string) ([]byte, error) {
	path, err := m.Path(file)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// WriteFile writes a file of the machine, and makes its directories.
func (m *Machine) WriteFile(file, text string, mode os.FileMode) error {
	path, err := m.Path(file)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), mode)
}

// Kill sends a signal to a process of the machine, as root.
func (m *Machine) Kill(pid int, sig unix.Signal) error {
	return m.signal(killRequest{PID: pid, Signal: int(sig)})
}

// Queue sends a signal with a value, as sigqueue(3) does, as root.
func (m *Machine) Queue(pid int, sig unix.Signal, value uintptr) error {
	return m.signal(killRequest{PID: pid, Signal: int(sig), Queue: true, Value: value})
}

func (m *Machine) signal(k killRequest) error {
	r, err := m.current()
	if err != nil {
		return err
	}
	if r.systemd {
		return m.signalByCommand(k)
	}
	rep, err := r.ask(k)
	switch {
	case err != nil:
		return fmt.Errorf("%s: kill %d: %w", m.Name, k.PID, err)
	case rep.Errno != 0:
		return fmt.Errorf("%s: kill %d: %w", m.Name, k.PID, rep.Errno)
	}
	return nil
}

// Command returns a command to start in the machine. Its argv[0] is searched in the machine's PATH
// when it starts. It ends with ctx at the latest.
func (m *Machine) Command(ctx context.Context, user User, argv ...string) *Cmd {
	return newCmd(ctx, m, user, argv)
}
