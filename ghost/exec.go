package ghost

import (
	"bytes"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// maxArgv bounds the command line that a ghost shows, in bytes. It has to fit into the stack below
// the stack pointer: execve maps 128 KiB (setup_arg_pages of fs/exec.c), of which the kernel uses
// up to 8 for randomness.
const maxArgv = 60 << 10

// exec gives a ghost another command line; without one, the ghost gets only a name. Where show
// cannot do that, the ghost executes the image anew. Other effects of execve(2) are undone: the
// image has capabilities, and the program of the process has not.
func (s *shard) exec(g *held, m *wire.GhostExec) error {
	d, err := s.drive(g)
	if err != nil {
		return err
	}
	defer func() { d.release() }()
	if len(m.Argv) == 0 {
		return d.setName(m.Comm)
	}
	if shown, err := d.show(m.Argv, name(m)); shown {
		return err
	}
	if err := d.learnDeath(); err != nil {
		return err
	}
	user := g.user
	user.Saved = user.Effective // execve(2)
	mixed := user.Real != user.Effective && hasRoot(user)
	if mixed && user.Effective == 0 {
		if err := d.becomeUser(wire.IDs{}); err != nil { // see becomeRoot
			return err
		}
	}
	if d, err = d.execute(m.Argv, name(m)); err != nil {
		return err
	}
	g.group.Saved = g.group.Effective
	l := d.list()
	if mixed {
		d.setUser(l, user)
	} else {
		g.user = user
	}
	d.setDeath(l)
	return d.make(l)
}

// name returns the name of the process: by default, the base name of its first argument.
func name(m *wire.GhostExec) string {
	if m.Comm != "" {
		return m.Comm
	}
	return m.Argv[0][strings.LastIndexByte(m.Argv[0], '/')+1:]
}

// setName gives a ghost a name (PR_SET_NAME(2const)).
func (d *driven) setName(comm string) error {
	l := d.list()
	l.call(unix.SYS_PRCTL, unix.PR_SET_NAME, l.put(taskName(comm)))
	return d.make(l)
}

// execute executes the image and gives the ghost its name, because execve(2) has named it after the
// image. The code before the loop has run already, and is left out.
func (d *driven) execute(argv []string, name string) (*driven, error) {
	if err := d.enter(argv); err != nil {
		return d, err
	}
	d.g.argv, d.g.astray = span{}, false
	d.s.raise(d.g)
	// The ghost goes from this stop to the next before its first instruction, unless a signal is in
	// between.
	if err := resume(unix.PTRACE_INTERRUPT, d.g.pid, 0); err != nil {
		return d, fmt.Errorf("interrupt ghost %d: %w", d.g.pid, err)
	}
	_ = goOn(unix.PTRACE_CONT, d.g.pid, 0)
	up, err := d.s.halted(d.g)
	if up == nil && err == nil {
		up, err = d.s.halt(d.g)
	}
	if err != nil {
		return d, err // it has ended, or is held in its exit
	}
	return up, up.setName(name)
}

// enter executes the image. The ghost is then stopped at the image's beginning.
func (d *driven) enter(argv []string) error {
	addr := (d.saved.stack() - scratch - maxArgv) &^ 15
	block, argvAddr := layout(addr, d.s.image, argv)
	if err := d.write(piece{addr, block}); err != nil {
		return err
	}
	_, err := d.callUntil(unix.PTRACE_EVENT_EXEC, here.one, newCalling(unix.SYS_EXECVE, addr, argvAddr, 0))
	return err
}

// layout lays out a path and an argument vector for memory at addr. It returns the address of the
// vector.
func layout(addr uint64, path string, argv []string) ([]byte, uint64) {
	block := append([]byte(path), 0)
	var pointers []uint64
	for _, arg := range argv {
		room := maxArgv - len(block) - 8*(len(pointers)+2)
		if room < 2 {
			break
		}
		pointers = append(pointers, addr+uint64(len(block)))
		block = append(append(block, arg[:min(len(arg), room-1)]...), 0)
	}
	block = append(block, make([]byte, -len(block)&7)...)
	vector := addr + uint64(len(block))
	for _, p := range append(pointers, 0) {
		block = appendWord(block, p)
	}
	return block, vector
}

// commandLine returns the arguments that a ghost was executed with (proc_pid_cmdline(5)).
func commandLine(pid wire.PID) ([]string, error) {
	text, err := readProc(pid, "cmdline")
	if err != nil || len(text) == 0 {
		return nil, err
	}
	var argv []string
	for _, arg := range bytes.Split(bytes.TrimSuffix(text, []byte{0}), []byte{0}) {
		argv = append(argv, string(arg))
	}
	return argv, nil
}
