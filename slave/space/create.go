package space

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"strings"

	"github.com/opencontainers/runc/libcontainer"
	"golang.org/x/sys/unix"

	"bproc/slave/pid1/filter"
)

// Create returns the space of a configuration: the living one of its directory, or a new one. It
// removes a dead one first.
func Create(ctx context.Context, cfg Config) (*Space, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if err := Probe(); err != nil {
		return nil, err
	}
	s, err := attach(ctx, cfg)
	if err == nil || !errors.Is(err, errNoSpace) {
		return s, err
	}
	s, err = start(cfg)
	if err == nil {
		err = s.connect(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create space %s: %w%s", cfg.Name, err, cfg.lastWords()), s.Destroy(ctx))
	}
	return s, nil
}

// lastWords returns the last words of an init that did not come up, as the end of an error: its log
// is removed with the space.
func (c *Config) lastWords() string {
	text, err := os.ReadFile(c.log())
	if err != nil {
		return "" // it did not get that far
	}
	if words := last(string(text)); words != "" {
		return "; its init says: " + words
	}
	return ""
}

// traceLines is how much of a stack trace is kept: the reason, and the calls that led to it.
const traceLines = 12

// trace matches the first line of Go's stack traces. The trace of an exit by a signal begins with
// its name.
var trace = regexp.MustCompile(`(?m)^(panic|fatal error|runtime|SIG[A-Z]+): `)

// last returns the last line of a text, or the beginning of the stack trace that ends it.
func last(text string) string {
	text = strings.TrimSpace(text)
	if at := trace.FindStringIndex(text); at != nil {
		lines := strings.SplitN(text[at[0]:], "\n", traceLines+1)
		return strings.Join(lines[:min(len(lines), traceLines)], "\n")
	}
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// start makes the namespaces and starts bpinit in them. After an error, too, it returns a Space,
// which must be destroyed.
func start(cfg Config) (*Space, error) {
	s := newSpace(cfg)
	if err := os.MkdirAll(cfg.rootfs(), 0o700); err != nil {
		return s, err
	}
	if err := cfg.layView(); err != nil {
		return s, err
	}
	listener, err := listen(cfg.socket())
	if err != nil {
		return s, err
	}
	defer listener.Close()
	program, err := os.Open(cfg.Init)
	if err != nil {
		return s, err
	}
	defer program.Close()
	log, err := os.OpenFile(cfg.log(), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return s, err
	}
	defer log.Close()
	config, err := cfg.container()
	if err != nil {
		return s, err
	}
	home := filter.Home{First: uint32(cfg.Home.First), End: uint32(cfg.Home.End())}
	process := &libcontainer.Process{
		// By descriptor: Root need not contain the program.
		Args:       append([]string{"/proc/self/fd/4"}, home.Args()...),
		Env:        []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"},
		Cwd:        "/",
		Stderr:     log,
		ExtraFiles: []*os.File{listener, program}, // descriptors 3 and 4
		Init:       true,
	}
	// Not inside withRoot: package cgroups keeps what it opens first, and the mounts there are gone
	// soon.
	if s.container, err = libcontainer.Create(cfg.stateDir(), cfg.Name, config); err != nil {
		return s, err
	}
	unlock, err := cfg.lockParents(unix.LOCK_SH)
	if err != nil {
		return s, err
	}
	defer unlock()
	return s, withRoot(cfg.Root, cfg.rootfs(), func() error { return s.run(process) })
}

// run starts bpinit, which begins when it is in the cgroup where its tasks are counted. The files
// that stand for its namespaces are opened before that: while a thread other than the first
// executes a program, /proc/PID has no root and no namespaces (execve(2) ends the first thread).
func (s *Space) run(process *libcontainer.Process) error {
	if err := s.container.Start(process); err != nil {
		return err
	}
	pid, err := process.Pid()
	if err != nil {
		return err
	}
	if err := s.enterTasks(pid); err != nil {
		return err
	}
	if err := s.allowRealtime(); err != nil {
		return err
	}
	if err := s.identify(pid); err != nil {
		return err
	}
	return s.container.Exec()
}

// listen makes the socket on which bpinit accepts daemons, for root only.
func listen(path string) (*os.File, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	defer l.Close()
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, err
	}
	return l.File()
}

// identify opens the files that stand for the namespaces of an init with a number.
func (s *Space) identify(pid int) error {
	var err error
	if s.pidfd, err = unix.PidfdOpen(pid, 0); err != nil {
		return fmt.Errorf("pidfd of init %d: %w", pid, err)
	}
	s.initPID = pid
	var st unix.Stat_t
	if err := unix.Stat(fmt.Sprintf("/proc/%d/ns/pid", pid), &st); err != nil {
		return fmt.Errorf("PID namespace of init %d: %w", pid, err)
	}
	s.inode = uint32(st.Ino)
	if s.identity, err = readIdentity(pid, s.inode); err != nil {
		return err
	}
	s.proc, err = os.Open(fmt.Sprintf("/proc/%d/root/proc", pid))
	return err
}
