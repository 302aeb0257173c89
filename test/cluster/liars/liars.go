package liars

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
	"bproc/wire"
)

// Variable makes a program a liar.
const Variable = "BPROCTEST_LIARS"

// Kinds are the kinds of processes that a liar can name as its ghost.
var Kinds = []string{"vfork", "filtered", "frozen", "idle"}

// Main runs a liar. Its arguments are a kind, the number of a user, and that of a node. It prints
// "named" when it has asked for a process, and ends with its standard input.
func Main(args []string) error {
	if len(args) == 1 {
		return role(args[0])
	}
	if len(args) != 3 {
		return fmt.Errorf("%d arguments", len(args))
	}
	user, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	node, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	g, err := start(args[0], user)
	if err != nil {
		return err
	}
	return errors.Join(name(g.pid, user, node), g.end())
}

// name asks for a process whose ghost is a child of this process, and waits for the end of standard
// input.
func name(pid, user, node int) error {
	// The saved user stays root, so that the ghost can be cleaned up.
	if err := errors.Join(syscall.Setgroups(nil), syscall.Setresgid(user, user, 0), syscall.Setresuid(user, user, 0)); err != nil {
		return err
	}
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: "/run/bproc/master.sock", Net: "unix"})
	if err != nil {
		return err
	}
	defer conn.Close()
	run := &wire.Run{
		Version: wire.Version, Node: wire.NodeID(node), Ghost: wire.PID(pid), Launch: 1,
		Command: wire.Command{Argv: []string{"sleep", "1000"}, Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: "/"},
	}
	if err := wire.Write(conn, 0, run); err != nil {
		return err
	}
	fmt.Println("named")
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, syscall.Setresuid(0, 0, 0))
}

// ghost is the process that a liar names.
type ghost struct {
	pid  int
	undo []func() error
}

func (g *ghost) end() error {
	err := unix.Kill(-g.pid, unix.SIGKILL)
	for _, undo := range g.undo {
		err = errors.Join(err, undo())
	}
	return err
}

// start starts a child of a kind that leads a process group.
func start(kind string, user int) (*ghost, error) {
	image := cluster.Prefix + "/lib/bproc/ghost"
	attr := &syscall.ProcAttr{Dir: "/", Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{
		Setpgid: true, Credential: &syscall.Credential{Uid: uint32(user), Gid: uint32(user)},
	}}
	g := &ghost{}
	var err error
	switch kind {
	case "vfork":
		g.pid, err = self(kind, attr)
	case "filtered":
		ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: user, Size: 1}}
		attr.Sys.Credential, attr.Sys.Cloneflags = &syscall.Credential{NoSetGroups: true}, unix.CLONE_NEWUSER
		attr.Sys.UidMappings, attr.Sys.GidMappings = ids, ids
		g.pid, err = self(kind, attr)
	case "frozen":
		if g.pid, err = syscall.ForkExec(image, []string{"frozen"}, attr); err == nil {
			err = g.freeze()
		}
	case "idle":
		if g.pid, err = syscall.ForkExec(image, []string{"idle"}, attr); err == nil {
			err = g.starve(attr)
		}
	default:
		err = errors.New("no kind of ghost")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	return g, nil
}

// self starts this program in a role.
func self(name string, attr *syscall.ProcAttr) (pid int, err error) {
	attr.Env = append(os.Environ(), Variable+"=1")
	return syscall.ForkExec("/proc/self/exe", []string{"liar", name}, attr)
}

// starve keeps a ghost from running: it is idle on a processor on which another process spins.
func (g *ghost) starve(attr *syscall.ProcAttr) error {
	spinner, err := self("spin", attr)
	if err != nil {
		return err
	}
	g.undo = append(g.undo, func() error { return unix.Kill(spinner, unix.SIGKILL) })
	var one unix.CPUSet
	one.Set(0)
	return errors.Join(
		unix.SchedSetaffinity(g.pid, &one), unix.SchedSetaffinity(spinner, &one),
		unix.SchedSetAttr(g.pid, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0),
	)
}
