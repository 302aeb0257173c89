package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// machineArg0 is the name under which this binary is PID 1 of a machine.
const machineArg0 = "bproctest-machine"

// machineFD is the descriptor of the connection to PID 1: a socket that keeps message boundaries,
// with one request and one answer at a time.
//
//	test process                 PID 1
//	machineSetup   ------------>   makes the machine
//	               <------------ machineReply
//	killRequest    ------------>   sends a signal
//	               <------------ machineReply        ...
//	close          ------------>   exits; the kernel ends all other processes
const machineFD = 3

// maxMessage bounds a message to PID 1.
const maxMessage = 1 << 16

// machineSetup describes a machine.
type machineSetup struct {
	Name   string
	Hosts  string // lines for /etc/hosts
	Prefix string // host directory to mount as [Prefix]; may be empty
	State  string // host directory to mount as /var/lib/bproc: the machine's disk
	Again  bool   // it has been on before
	Groups []machineGroup
	// Systemd is the program that becomes PID 1; empty: this one stays. Notify is its socket for
	// reporting that it is ready, Console its terminal.
	Systemd, Notify, Console string
}

// machineGroup is the control group of the machine in one hierarchy.
type machineGroup struct {
	hierarchy
	Dir string
}

// killRequest asks for a signal to a process, by its number in the machine.
type killRequest struct {
	PID    int
	Signal int
	Value  uintptr // sent with sigqueue(3) if Queue is set
	Queue  bool
}

// machineReply is the answer to any request: empty on success.
type machineReply struct {
	Err   string
	Errno unix.Errno
}

// machineMain is PID 1 of a machine. It returns its exit code.
func machineMain() int {
	// Orphans of the machine become children of this process. Ignoring the signal makes the kernel
	// reap them (wait(2), NOTES).
	signal.Ignore(unix.SIGCHLD)
	if err := os.WriteFile("/proc/self/comm", []byte("init"), 0); err != nil {
		return 1
	}
	conn, err := net.FileConn(os.NewFile(machineFD, "control"))
	if err != nil {
		return 1
	}
	var setup machineSetup
	if err := receive(conn, &setup); err != nil {
		return 1
	}
	err = setup.apply()
	if send(conn, reply(err)) != nil || err != nil {
		return 1
	}
	if setup.Systemd != "" {
		fmt.Fprintln(os.Stderr, execSystemd(setup.Systemd, setup.Notify))
		return 1
	}
	for {
		var kill killRequest
		if err := receive(conn, &kill); err != nil {
			return 0
		}
		if send(conn, reply(kill.do())) != nil {
			return 0
		}
	}
}

func reply(err error) machineReply {
	if err == nil {
		return machineReply{}
	}
	r := machineReply{Err: err.Error()}
	errors.As(err, &r.Errno)
	return r
}

func send(conn net.Conn, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = conn.Write(b)
	return err
}

func receive(conn net.Conn, v any) error {
	b := make([]byte, maxMessage)
	n, err := conn.Read(b)
	if err != nil {
		return err
	}
	if n == 0 { // a socket that keeps boundaries reports its end like this
		return io.EOF
	}
	return json.Unmarshal(b[:n], v)
}

// do sends the signal.
func (k killRequest) do() error {
	if !k.Queue {
		return unix.Kill(k.PID, unix.Signal(k.Signal))
	}
	// siginfo_t as rt_sigqueueinfo(2) takes it: 128 bytes; for SI_QUEUE the sender's PID and UID
	// follow the three ints, then the value.
	info := struct {
		signo, errno, code, _ int32
		pid                   int32
		uid                   uint32
		value                 uintptr
		_                     [128 - 24 - unsafe.Sizeof(uintptr(0))]byte
	}{signo: int32(k.Signal), code: -1, pid: 1, value: k.Value}
	_, _, errno := unix.Syscall(unix.SYS_RT_SIGQUEUEINFO, uintptr(k.PID), uintptr(k.Signal), uintptr(unsafe.Pointer(&info)))
	if errno != 0 {
		return errno
	}
	return nil
}

// apply makes a machine of the namespaces in which this process was started.
func (s machineSetup) apply() error {
	if err := s.enterGroups(); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(s.Name)); err != nil {
		return fmt.Errorf("set host name: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	writable := []string{"/etc", "/opt", "/var/lib"}
	if s.Systemd != "" && s.Prefix == "" {
		writable = append(writable, "/usr")
	}
	if err := overlays(writable...); err != nil {
		return err
	}
	if err := s.writeEtc(); err != nil {
		return err
	}
	if err := emptyStartFiles(); err != nil {
		return err
	}
	if err := s.mountSystem(); err != nil {
		return err
	}
	if s.Systemd != "" {
		return prepareSystemd(s.Console)
	}
	return s.leaveTopGroup()
}

// emptyStartFiles empties the start files of root's shells: those of the host's root are not for
// shells that tests start by the thousand, and kill.
func emptyStartFiles() error {
	for _, name := range []string{".bashrc", ".bash_profile", ".bash_login", ".profile"} {
		file := filepath.Join("/root", name)
		if _, err := os.Stat(file); err != nil {
			continue
		}
		if err := mount(os.DevNull, file, "", unix.MS_BIND, ""); err != nil {
			return err
		}
	}
	return nil
}

// enterGroups puts this process into the machine's control groups and makes them the roots of its
// cgroup namespace.
func (s machineSetup) enterGroups() error {
	for _, g := range s.Groups {
		if err := os.WriteFile(filepath.Join(g.Dir, "cgroup.procs"), []byte("0"), 0); err != nil {
			return fmt.Errorf("enter control group: %w", err)
		}
	}
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil {
		return fmt.Errorf("unshare control groups: %w", err)
	}
	return nil
}

// leafGroup is the group of a machine's processes in a version 2 hierarchy: a group with processes
// cannot give controllers to its children (cgroups(7)).
const leafGroup = "machine"

func (s machineSetup) leaveTopGroup() error {
	for _, g := range s.Groups {
		if !g.V2 {
			continue
		}
		leaf := filepath.Join(g.Path, leafGroup) // the root of the mount is now the machine's group
		if err := os.Mkdir(leaf, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(leaf, "cgroup.procs"), []byte("0"), 0); err != nil {
			return fmt.Errorf("enter control group: %w", err)
		}
	}
	return nil
}
