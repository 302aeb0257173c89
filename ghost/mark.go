package ghost

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// markSignal carries the keeper's mark to a ghost that is to be stopped. When the mark is
// delivered, the stop signal replaces it. The stop signal itself must not be sent: the kernel would
// drop a SIGCONT that has not been delivered yet (signal(7), prepare_signal of kernel/signal.c),
// and another process's SIGCONT would be lost. The image ignores the mark, which does not affect a
// tracer: if the keeper dies in between, the ghost survives it.
const markSignal = unix.Signal(64)

// ourMark tells a signal of the keeper from all others: the value of a queued signal, which other
// processes cannot guess. Successive keepers of a socket have the same: a signal of one may be
// delivered when the next has started.
type ourMark uint64

const sizeofMark = 8

// markOf returns the mark of the keepers of a socket, which is stored in their lock file. The first
// keeper chooses it.
func markOf(lock *os.File) (ourMark, error) {
	var mark [sizeofMark]byte
	if n, err := lock.ReadAt(mark[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("mark of the keeper: %w", err)
	} else if n < sizeofMark {
		if _, err := rand.Read(mark[:]); err != nil {
			return 0, err
		}
		if _, err := lock.WriteAt(mark[:], 0); err != nil {
			return 0, fmt.Errorf("mark of the keeper: %w", err)
		}
	}
	return ourMark(binary.NativeEndian.Uint64(mark[:])), nil
}

// own reports whether the keeper sent a signal.
func (m ourMark) own(info *siginfo) bool {
	return info.code() == siQueue && info.value() == uint64(m)
}

// sendMark sends a ghost the mark. Where the kernel cannot keep the value of another signal
// (RLIMIT_SIGPENDING), it sends the signal alone, which never fails.
func (s *shard) sendMark(g *held) error {
	err := s.mark.send(g.pid, markSignal)
	if errors.Is(err, unix.EAGAIN) {
		g.plain = true
		err = unix.Kill(int(g.pid), markSignal)
	}
	return err
}

// isMark reports whether a signal that a ghost is about to get is the mark.
func (s *shard) isMark(g *held, info *siginfo) bool {
	return info.signal() == markSignal && (s.mark.own(info) ||
		g.plain && info.code() == siUser && (info.lost() || info.sender() == wire.PID(unix.Getpid())))
}

// send sends a ghost a signal that own recognizes.
func (m ourMark) send(pid wire.PID, sig unix.Signal) error {
	return queueSignal(pid, sig, uint64(m))
}
