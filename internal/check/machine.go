package check

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"bproc/ghost"
	"bproc/internal/probe"
	"bproc/slave/pid1/filter"
	"bproc/slave/pid1/supervise"
	"bproc/slave/procevents"
	"bproc/wire/link"
)

// Machine holds the inputs of checks.
type Machine struct {
	Root    probe.Root // directory with /proc, /sys, /etc, /run and /var of the machine
	Prefix  string     // directory in which bproc is installed
	UID     int        // effective, of the user who checks
	Release string     // of the checking program
	Master  string     // HOST[:PORT] for a node; empty: that of the configuration
	Probes
}

// Probes are functions for facts that files do not show.
type Probes struct {
	SetTID     func() error        // clone3(2) with chosen process numbers
	CloseRange func() error        // close_range(2)
	Landlock   func() (int, error) // the version of its interface
	Seccomp    func() error        // user notification
	BPF        func() error        // the programs of a node can be loaded

	Writable     func(path string) error           // whether root can write to a directory
	SetUID       func(path string) error           // whether file capabilities have an effect in a file system
	Image        func(path string) error           // whether the ghost's image is correct
	Capabilities func(path string) (uint64, error) // permitted capabilities of a file
	BuiltAs      func(path string) (string, error) // the release from which a program was built
	Resolve      func(context.Context, string) ([]string, error)
	Connect      func(path string) error // whether a process listens on a unix socket
	Inquire      func(ctx context.Context, addr string, id *link.Identity) (*link.About, error)
	Accepts      func(ctx context.Context, addr string, id *link.Identity) error
	Identity     func(dir string) (*link.Identity, error)
	// FrontEnd reads the configuration of a front end: TCP address and state directory.
	FrontEnd func(path string) (listen, state string, err error)
}

// RealProbes returns the probes of this machine. The caller sets FrontEnd.
func RealProbes() Probes {
	return Probes{
		SetTID:       probe.SetTID,
		CloseRange:   probe.CloseRange,
		Landlock:     probe.Landlock,
		Seccomp:      seccomp,
		BPF:          loadBPF,
		Writable:     writable,
		SetUID:       setUID,
		Image:        ghost.Check,
		Capabilities: fileCapabilities,
		BuiltAs:      builtAs,
		Resolve:      net.DefaultResolver.LookupHost,
		Connect:      connect,
		Inquire:      link.Inquire,
		Accepts:      accepts,
		Identity:     link.OpenIdentity,
	}
}

// subject is a machine in one of its roles, with data that several checks need.
type subject struct {
	*Machine
	side   Side
	daemon *process // bpmaster or bpslave; nil if it does not run

	asked sync.Once
	about *link.About // nil if the master does not answer
	err   error
}

func (m *Machine) of(side Side) *subject {
	return &subject{Machine: m, side: side, daemon: m.running(daemonOf[side])}
}

// daemonOf is the daemon of each side.
var daemonOf = map[Side]string{FrontEnd: "bpmaster", Node: "bpslave"}

// root reports whether checks that need root can be made.
func (m *Machine) root() bool { return m.UID == 0 }

// installed returns the path of an installed file of bproc.
func (m *Machine) installed(file string) string { return filepath.Join(m.Prefix, file) }

func seccomp() error {
	if err := filter.Check(); err != nil {
		return err
	}
	return supervise.Check()
}

// loadBPF loads and attaches the programs that watch processes, for a namespace that does not
// exist, and removes them.
func loadBPF() error {
	const noNamespace, ring = 0, 64 << 10
	source, err := procevents.Open(procevents.Config{Namespace: noNamespace, Ring: ring})
	if err != nil {
		return err
	}
	return source.Close()
}

func writable(path string) error { return unix.Access(path, unix.W_OK|unix.X_OK) }

func setUID(path string) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return err
	}
	if fs.Flags&unix.ST_NOSUID != 0 {
		return fmt.Errorf("%s is on a file system that is mounted with nosuid", path)
	}
	return nil
}

func builtAs(path string) (string, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return "", err
	}
	return info.Main.Version, nil
}

func connect(path string) error {
	c, err := net.Dial("unix", path)
	if err != nil {
		return err
	}
	return c.Close()
}

// fileCapabilities reads the attribute security.capability: struct vfs_cap_data of
// linux/capability.h.
func fileCapabilities(path string) (uint64, error) {
	var b [24]byte // revision 3
	n, err := unix.Getxattr(path, "security.capability", b[:])
	if err != nil {
		return 0, &os.PathError{Op: "capabilities of", Path: path, Err: err}
	}
	word := func(i int) uint64 {
		return uint64(b[i]) | uint64(b[i+1])<<8 | uint64(b[i+2])<<16 | uint64(b[i+3])<<24
	}
	if n < 20 {
		return word(4), nil
	}
	return word(4) | word(12)<<32, nil
}
