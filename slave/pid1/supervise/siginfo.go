package supervise

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// Layout of siginfo_t (asm-generic/siginfo.h). After three numbers comes a union,
// which begins at 16 in 64-bit programs, and at 12 in 32-bit ones.
const (
	sizeofKnown = 48 // struct kernel_siginfo; the rest is for future layouts
	infoSigno   = 0
	infoErrno   = 4
	infoCode    = 8
	infoUnion   = 16
	infoUnion32 = 12
)

// Values of si_code.
const (
	codeTkill    = -6
	codeDethread = -7 // the lowest of those without gaps
	codeAsyncNL  = -60
)

// callWith has the front end carry out a call with data that the caller sends along. The data is
// read while the caller waits for the front end anyway: the provider of the memory may be slow
// (FUSE, userfaultfd(2)), and the thread that receives the calls of all processes does not wait for
// it.
func (s *Supervisor) callWith(r *request, c *wire.Call, read func() ([]byte, unix.Errno)) verdict {
	if v, is := s.apart(r, c); is {
		return v
	}
	return verdict{wait: func(ctx context.Context) verdict {
		info, errno := read()
		switch {
		case errno != 0:
			return failure(errno)
		case !s.view.waits(r.id):
			return failure(unix.ESRCH) // the data may be that of another thread with the number; this answer reaches nobody
		}
		c.Info = info
		return s.call(r, c, nil).wait(ctx)
	}}
}

// siginfo reads the data that a caller sends along with a signal, and makes the checks that the
// kernel would have made before it looked for the receiver. The ghost's kernel makes them again.
func (s *Supervisor) siginfo(r *request, at uint64, signal int32, is32 bool) ([]byte, unix.Errno) {
	raw := make([]byte, wire.SizeofSiginfo)
	if err := r.eyes.memory(r.tid, uintptr(at), raw); err != nil {
		var errno unix.Errno
		if errors.As(err, &errno) && errno == unix.EPERM {
			return nil, errno // kernel.yama.ptrace_scope is 3
		}
		return nil, unix.EFAULT
	}
	code := int32(binary.LittleEndian.Uint32(raw[infoCode:]))
	if code >= 0 || code == codeTkill {
		return nil, unix.EPERM // that would be from the kernel, or from kill(2)
	}
	if is32 {
		raw = widen(raw)
	} else if code < codeDethread && code != codeAsyncNL && slices.ContainsFunc(raw[sizeofKnown:], func(b byte) bool { return b != 0 }) {
		return nil, unix.E2BIG
	}
	binary.LittleEndian.PutUint32(raw[infoSigno:], uint32(signal))
	return raw, 0
}

// widen converts the siginfo_t of a 32-bit program into that of a 64-bit one: number, user and
// value of the sender.
func widen(raw []byte) []byte {
	const senderAndValue = 12
	wide := make([]byte, wire.SizeofSiginfo)
	copy(wide, raw[:infoCode+4])
	copy(wide[infoUnion:], raw[infoUnion32:infoUnion32+senderAndValue])
	return wide
}
