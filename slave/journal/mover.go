package journal

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// mover is a pipe through which bytes go from one place to the other. How many are in
// it tells how far that has come.
type mover struct {
	read, write int // descriptors; -1: none
}

var noMover = mover{-1, -1}

func (m *mover) open() error {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return fmt.Errorf("mover: %w", err)
	}
	m.read, m.write = ends[0], ends[1]
	return nil
}

func (m *mover) close() error {
	if m.read < 0 {
		return nil
	}
	err := errors.Join(unix.Close(m.read), unix.Close(m.write))
	*m = noMover
	return err
}

// held returns how many bytes are in the pipe: FIONREAD of pipe(7), which is TIOCINQ.
func (m *mover) held() (int, error) {
	n, err := unix.IoctlGetInt(m.read, unix.TIOCINQ)
	if err != nil {
		return 0, fmt.Errorf("bytes in a mover: %w", err)
	}
	return n, nil
}

// drain drops what is in the pipe. It is called when that is of no use any more, so an
// error leaves nothing undone.
func (m *mover) drain() {
	var buf [4 << 10]byte
	for {
		n, err := unix.Read(m.read, buf[:])
		if n <= 0 && !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// splice moves up to n bytes from one pipe to another, without waiting.
func splice(from, to, n int) (int, error) {
	for {
		moved, err := unix.Splice(from, nil, to, nil, n, unix.SPLICE_F_NONBLOCK|unix.SPLICE_F_MOVE)
		if !errors.Is(err, unix.EINTR) {
			return int(moved), err
		}
	}
}
