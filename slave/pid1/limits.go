package pid1

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// rlimits is the number of resources of getrlimit(2), RLIM_NLIMITS.
const rlimits = 16

// limits sets the resource limits. A limit that the node does not allow, for lack of a capability
// or above fs.nr_open, is cut to init's own.
func (p *plan) limits(limits []wire.Limit) unix.Errno {
	files := false
	for _, l := range limits {
		if l.Resource >= rlimits {
			return unix.EINVAL
		}
		files = files || l.Resource == unix.RLIMIT_NOFILE
		own, errno := ownLimit(int(l.Resource))
		if errno != 0 {
			return errno
		}
		p.limit(elseNext, int(l.Resource), unix.Rlimit{Cur: l.Soft, Max: l.Hard})
		hard := min(l.Hard, own.Max)
		p.limit(must, int(l.Resource), unix.Rlimit{Cur: min(l.Soft, hard), Max: hard})
	}
	if files {
		return 0
	}
	// Init has raised its own limit (raiseFiles).
	own, errno := ownLimit(unix.RLIMIT_NOFILE)
	if errno != 0 {
		return errno
	}
	own.Cur = min(noFileDefault, own.Max)
	p.limit(must, unix.RLIMIT_NOFILE, own)
	return 0
}

func (p *plan) limit(r rule, resource int, limit unix.Rlimit) {
	p.keep = append(p.keep, &limit)
	p.add(r, wire.StageSpawn, unix.SYS_PRLIMIT64, 0, uintptr(resource), uintptr(unsafe.Pointer(&limit)), 0)
}

func ownLimit(resource int) (unix.Rlimit, unix.Errno) {
	var own unix.Rlimit
	_, _, errno := unix.RawSyscall6(unix.SYS_PRLIMIT64, 0, uintptr(resource), 0, uintptr(unsafe.Pointer(&own)), 0, 0)
	return own, errno
}
