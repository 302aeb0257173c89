package pid1

import (
	"syscall"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// exitFailed is the exit code of a child that could not execute, and of a stand-in that could not
// become one. Nothing reads it: the reason is in the shared memory.
const exitFailed = 127

// entry is what a new process begins with: a plan or a sleeper.
type entry struct {
	plan    *plan
	sleeper *sleeper
}

// born is the first function of a new process, called from rawClone.
//
//go:nosplit
//go:norace
func born(e *entry) {
	if e.plan != nil {
		child(e.plan)
	}
	e.sleeper.live()
}

// child is the code of a new process until its execve. It runs on the plan's stack, in init's
// memory, beside init's other threads. The Go runtime does not know of it: it must not allocate,
// grow the stack, store pointers, or call anything but raw system calls. It does not return.
//
//go:nosplit
//go:norace
func child(p *plan) {
	for i := 0; i < len(p.steps); i++ {
		s := &p.steps[i]
		switch errno := s.do(); {
		case errno == 0 && s.rule == elseNext:
			i++
		case errno != 0 && s.rule == must:
			p.fail(s.stage, errno)
		}
	}
	p.fail(wire.StageExec, p.exec())
}

// exec tries the candidates as execvp(3) does. It passes over files that do not exist, and
// remembers files that may not be executed. A file that the kernel does not recognise is a script
// for the shell. exec returns only if all fail.
//
//go:nosplit
//go:norace
func (p *plan) exec() syscall.Errno {
	last, denied := unix.ENOENT, false
	for _, path := range p.paths {
		errno := execve(path, p.argv, p.envp)
		if errno == unix.ENOEXEC {
			p.script[1] = path
			errno = execve(p.script[0], p.script, p.envp)
		}
		switch errno {
		case unix.EACCES:
			denied = true
		case unix.ENOENT, unix.ENOTDIR, unix.ESTALE, unix.ENODEV, unix.ETIMEDOUT:
			last = errno
		default:
			return errno
		}
	}
	if denied {
		return unix.EACCES
	}
	return last
}

// fail records the reason and ends the child.
//
//go:nosplit
//go:norace
func (p *plan) fail(stage wire.Stage, errno syscall.Errno) {
	p.stage, p.errno = stage, errno
	exit()
}

//go:nosplit
//go:norace
func (s *step) do() syscall.Errno {
	_, _, errno := syscall.RawSyscall6(s.trap, s.args[0], s.args[1], s.args[2], s.args[3], s.args[4], s.args[5])
	return errno
}

//go:nosplit
//go:norace
func exit() {
	for {
		_, _, _ = syscall.RawSyscall6(unix.SYS_EXIT_GROUP, exitFailed, 0, 0, 0, 0, 0)
	}
}
