package pid1

import (
	"cmp"
	"math/bits"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// rule is the meaning of a step's result.
type rule uint8

const (
	must     rule = iota // an error ends the launch
	may                  // an error does not matter
	elseNext             // the next step is done only if this one fails
)

// step is one system call of a child before its execve.
type step struct {
	trap  uintptr
	args  [6]uintptr
	rule  rule
	stage wire.Stage // the stage of the failure if the step fails
}

// plan is everything that a child does between clone3 and execve, and the memory for it. The child
// runs in init's memory, without the Go runtime, so everything is prepared here, and the child only
// works through it (child.go).
type plan struct {
	pid    int32 // the number: clone3's set_tid points here
	cookie uintptr
	steps  []step
	paths  []uintptr // candidates for execve
	argv   []uintptr // ends with 0, as the others
	envp   []uintptr
	script []uintptr // argv of the shell for a candidate without magic number: shell, candidate, arguments
	stack  []byte

	args  cloneArgs
	entry entry
	word  uint32 // futex: the progress of a forker with it

	stage wire.Stage // the child's answer when it could not execute
	errno unix.Errno

	keep []any // the memory that the addresses above point to
}

// nodeState is what the plan needs to know of init and its space.
type nodeState struct {
	null     int  // descriptor of /dev/null
	resetOOM bool // oom_score_adj must be reset
	cookie   uintptr
	name     *[16]byte // of init
	view     string    // where the process's /proc is mounted; empty: it is the space's own
}

const (
	stackSize     = 8 << 10
	shell         = "/bin/sh"
	descriptorMax = ^uintptr(0) >> 32 // "all of them" to close_range(2)
	fileMode      = 0o666
	umaskBits     = 0o777
	timerSlack    = 50_000 // nanoseconds; the value of the kernel's first process, which all others inherit
	signalIgnore  = 1      // SIG_IGN
	noFileDefault = 1024
	cookieArg     = 5 // where the filter looks for the cookie
)

// newPlan prepares the launch of sp, with streams for those of its descriptors that are streams.
// The error is one of the request.
func newPlan(sp *wire.Spawn, streams []int, where place, node nodeState) (*plan, unix.Errno) {
	cmd := &sp.Command
	if sp.PID <= 1 || len(cmd.Argv) == 0 {
		return nil, unix.EINVAL
	}
	p := &plan{pid: int32(sp.PID), cookie: node.cookie, stack: make([]byte, stackSize), steps: make([]step, 0, 48)}
	p.args.use(p.stack, &p.pid)
	p.entry.plan = p
	p.unshare()
	if cmd.Terminal != nil {
		where.new = true // only a session leader can have a controlling terminal
	}
	p.begin(where, node)
	errnos := []unix.Errno{
		p.see(node.view),
		p.streams(cmd, streams, node.null),
		p.limits(cmd.Limits),
		p.state(cmd),
		p.identity(sp),
		p.directory(cmd),
		p.files(cmd),
		p.command(cmd),
	}
	for _, errno := range errnos {
		if errno != 0 {
			return nil, errno
		}
	}
	return p, 0
}

func (p *plan) add(r rule, stage wire.Stage, trap uintptr, args ...uintptr) {
	s := step{trap: trap, rule: r, stage: stage}
	copy(s.args[:], args)
	p.steps = append(p.steps, s)
}

// addOwn adds a step whose system call carries the cookie, so that the supervisor does not decide
// it (package filter).
func (p *plan) addOwn(r rule, trap uintptr, args ...uintptr) {
	p.add(r, wire.StageSpawn, trap, args...)
	p.steps[len(p.steps)-1].args[cookieArg] = p.cookie
}

// string returns the address of a copy of s that ends with a NUL.
func (p *plan) string(s string) (uintptr, unix.Errno) {
	b, err := unix.BytePtrFromString(s)
	if err != nil {
		return 0, unix.EINVAL
	}
	p.keep = append(p.keep, b)
	return uintptr(unsafe.Pointer(b)), 0
}

// array returns the addresses of copies of all strings, followed by a 0. One piece of memory holds
// them all: an environment has many.
func (p *plan) array(list []string) ([]uintptr, unix.Errno) {
	size := 1
	for _, s := range list {
		if strings.IndexByte(s, 0) >= 0 {
			return nil, unix.EINVAL
		}
		size += len(s) + 1
	}
	text := make([]byte, 0, size)
	base := uintptr(unsafe.Pointer(unsafe.SliceData(text)))
	p.keep = append(p.keep, text)
	array := make([]uintptr, 0, len(list)+1)
	for _, s := range list {
		array = append(array, base+uintptr(len(text)))
		text = append(append(text, s...), 0)
	}
	return append(array, 0), 0
}

// unshare gives the child its own descriptors, without those that init keeps for the daemon, of
// which there can be very many (close_range(2)).
func (p *plan) unshare() {
	p.add(must, wire.StageSpawn, unix.SYS_CLOSE_RANGE, storedFrom, descriptorMax, unix.CLOSE_RANGE_UNSHARE)
}

// begin takes the child to its place, and out of init's protection from running out of memory. A
// child of a forker has the name of a stand-in, which it is not. A descriptor that a step opens has
// the lowest free number: that of the one that was just closed.
func (p *plan) begin(where place, node nodeState) {
	switch {
	case where.new:
		p.addOwn(must, unix.SYS_SETSID)
	case where.own:
		p.addOwn(must, unix.SYS_SETPGID, 0, 0)
	case where.pgid != 0:
		p.addOwn(must, unix.SYS_SETPGID, 0, uintptr(where.pgid))
	}
	p.addOwn(may, unix.SYS_PRCTL, unix.PR_SET_NAME, uintptr(unsafe.Pointer(node.name)))
	p.addOwn(may, unix.SYS_PRCTL, unix.PR_SET_TIMERSLACK, timerSlack) // not all of init's threads have it
	if !node.resetOOM {
		return
	}
	file, _ := p.string("/proc/self/oom_score_adj")
	zero, _ := p.string("0")
	p.add(may, 0, unix.SYS_CLOSE, 0)
	p.add(may, 0, unix.SYS_OPENAT, 0, file, unix.O_WRONLY)
	p.add(may, 0, unix.SYS_WRITE, 0, zero, 1)
}

// streams puts the descriptors from init in their places, and closes all others at once: a child
// that is held up later must not hold the streams of other processes. Init's own are above 2, since
// it has something at 0, 1 and 2.
func (p *plan) streams(cmd *wire.Command, streams []int, null int) unix.Errno {
	for i, d := range cmd.Stdio {
		from := null
		switch d.Mode {
		case wire.DescriptorNull:
		case wire.DescriptorStream:
			if len(streams) == 0 {
				return unix.EBADF
			}
			from, streams = streams[0], streams[1:]
		case wire.DescriptorFile:
			continue
		case wire.DescriptorTerminal:
			from = 0
		default:
			return unix.EINVAL
		}
		p.add(must, wire.StageSpawn, unix.SYS_DUP3, uintptr(from), uintptr(i), 0)
	}
	if len(streams) > 0 {
		return unix.EBADF
	}
	p.add(must, wire.StageSpawn, unix.SYS_CLOSE_RANGE, uintptr(len(cmd.Stdio)), descriptorMax, 0)
	if cmd.Terminal != nil {
		p.add(must, wire.StageSpawn, unix.SYS_IOCTL, 0, unix.TIOCSCTTY, 0)
	}
	return 0
}

// state sets what a process inherits from its parent besides limits.
func (p *plan) state(cmd *wire.Command) unix.Errno {
	p.add(may, 0, unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, 0, uintptr(cmd.Nice))
	p.add(must, wire.StageSpawn, unix.SYS_UMASK, uintptr(cmd.Umask&umaskBits))
	ignore := &[4]uintptr{signalIgnore} // struct sigaction of the kernel
	p.keep = append(p.keep, ignore)
	for set := cmd.Ignored; set != 0; set &= set - 1 {
		signo := bits.TrailingZeros64(set) + 1
		// SIGKILL and SIGSTOP cannot be ignored on the front end either.
		p.add(may, 0, unix.SYS_RT_SIGACTION, uintptr(signo), uintptr(unsafe.Pointer(ignore)), 0, sizeofSet)
	}
	return 0
}

// identity takes the user's identity, and only then unblocks signals: until then they wait.
func (p *plan) identity(sp *wire.Spawn) unix.Errno {
	var groups uintptr
	if len(sp.Groups) > 0 {
		p.keep = append(p.keep, sp.Groups)
		groups = uintptr(unsafe.Pointer(&sp.Groups[0]))
	}
	for set := sp.Dropped; set != 0; set &= set - 1 {
		// EINVAL: this kernel does not have the capability.
		p.addOwn(may, unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, uintptr(bits.TrailingZeros64(set)))
	}
	uid, gid := uintptr(sp.UID), uintptr(sp.GID)
	// The process gets a session keyring of its own: init's has the keys of all users (session-keyring(7)). It is
	// made as root, since the user's quota of keys may be small.
	p.add(may, 0, unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, 0)
	p.add(must, wire.StageSpawn, unix.SYS_SETGROUPS, uintptr(len(sp.Groups)), groups)
	p.addOwn(must, unix.SYS_SETRESGID, gid, gid, gid)
	p.addOwn(must, unix.SYS_SETRESUID, uid, uid, uid)
	// The kernel has set the dumpable attribute of the memory, which is init's, to
	// fs.suid_dumpable. If that is not 0, a signal that dumps core ends all processes that share
	// the memory, before Linux 5.16.
	p.addOwn(must, unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 0)
	none := new(uint64)
	p.keep = append(p.keep, none)
	p.add(must, wire.StageSpawn, unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(none)), 0, sizeofSet)
	return 0
}

// directory changes to the directory. If the user cannot, it is "/", or no process is made.
func (p *plan) directory(cmd *wire.Command) unix.Errno {
	root, _ := p.string("/")
	if cmd.Dir != "" {
		path, errno := p.string(cmd.Dir)
		if errno != 0 {
			return errno
		}
		if cmd.OnlyDir {
			p.add(must, wire.StageDir, unix.SYS_CHDIR, path)
			return 0
		}
		p.add(elseNext, 0, unix.SYS_CHDIR, path)
	}
	p.add(must, wire.StageSpawn, unix.SYS_CHDIR, root)
	return 0
}

// files opens the descriptors that are files, with the user's rights. O_NOCTTY: a terminal that a
// session leader opens would otherwise become its controlling terminal. A file for both outputs is
// opened once: with an offset of its own each would overwrite the other.
func (p *plan) files(cmd *wire.Command) unix.Errno {
	at := unix.AT_FDCWD
	for i, d := range cmd.Stdio {
		if d.Mode != wire.DescriptorFile {
			continue
		}
		if i == 2 && d == cmd.Stdio[1] {
			p.add(must, wire.StageFile, unix.SYS_DUP3, 1, 2, 0)
			continue
		}
		flags := unix.O_WRONLY | unix.O_CREAT | unix.O_TRUNC | unix.O_NOCTTY
		if i == 0 {
			flags = unix.O_RDONLY | unix.O_NOCTTY
		}
		path, errno := p.string(d.Path)
		if errno != 0 {
			return errno
		}
		p.add(may, 0, unix.SYS_CLOSE, uintptr(i))
		p.add(must, wire.StageFile, unix.SYS_OPENAT, uintptr(at), path, uintptr(flags), fileMode)
	}
	return 0
}

// command prepares the execve.
func (p *plan) command(cmd *wire.Command) unix.Errno {
	files, errno := candidates(cmp.Or(cmd.Path, cmd.Argv[0]), cmd.Env)
	if errno != 0 {
		return errno
	}
	var errnos [4]unix.Errno
	var sh uintptr
	var paths []uintptr
	paths, errnos[0] = p.array(files)
	p.argv, errnos[1] = p.array(cmd.Argv)
	p.envp, errnos[2] = p.array(cmd.Env)
	sh, errnos[3] = p.string(shell)
	for _, errno := range errnos {
		if errno != 0 {
			return errno
		}
	}
	p.paths = paths[:len(paths)-1]
	p.script = append([]uintptr{sh, 0}, p.argv[1:]...)
	return 0
}
