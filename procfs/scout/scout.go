package scout

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/longcall"
	"bproc/wire"
)

// window is the number of processes that the scout may have been sent and has not answered for. It
// fits into its pipes.
const window = 256

// answerTime bounds the wait for an answer. No request of the scout waits for a node.
const answerTime = 20 * time.Second

// Scout is the scout process of a view.
type Scout struct {
	cmd     *exec.Cmd
	in, out *os.File
	threads []uint32

	mu  sync.Mutex // held while the scout is used
	err error      // it has failed
}

// Start starts the scout of a view, before it is mounted. Argv runs this program, which must then call
// [Run] with the mount point, its last argument.
func Start(argv []string, mountpoint string) (*Scout, error) {
	in, told, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	answers, out, err := os.Pipe()
	if err != nil {
		told.Close()
		return nil, err
	}
	defer out.Close()
	s := &Scout{in: told, out: answers, cmd: &exec.Cmd{
		Path: "/proc/self/exe", Args: append(slices.Clone(argv), mountpoint), Dir: "/", Stdin: in, Stdout: out,
		Env: append(os.Environ(), "GODEBUG=asyncpreemptoff=1"), // a signal would interrupt its waits
	}}
	if err := s.cmd.Start(); err != nil {
		return nil, errors.Join(err, s.in.Close(), s.out.Close())
	}
	hello := make([]byte, threads*numberSize)
	n, err := s.hear(hello)
	if err == nil && n < len(hello) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	for ; len(hello) > 0; hello = hello[numberSize:] {
		s.threads = append(s.threads, binary.LittleEndian.Uint32(hello))
	}
	return s, nil
}

// Is reports whether a thread is one of the scout's. A view without a scout has nil.
func (s *Scout) Is(thread uint32) bool { return s != nil && slices.Contains(s.threads, thread) }

// List has the scout list the view, which makes the directories of all processes known.
func (s *Scout) List() error {
	listed := false
	return s.Look(func() (wire.PID, bool) {
		first := !listed
		listed = true
		return all, first
	}, func(wire.PID) {})
}

// Look has the scout look into the processes that next returns, until that returns false. It calls
// looked for each one afterwards, not always in the same order. Only a scout that has failed has
// errors, and then for good.
func (s *Scout) Look(next func() (wire.PID, bool), looked func(wire.PID)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if s.err = s.look(next, looked); s.err != nil {
		_ = s.cmd.Process.Kill() // it may have ended
	}
	return s.err
}

func (s *Scout) look(next func() (wire.PID, bool), looked func(wire.PID)) error {
	numbers := make([]byte, 0, window*numberSize)
	more := true
	for under := 0; ; {
		numbers = numbers[:0]
		for more && under < window {
			var pid wire.PID
			if pid, more = next(); more {
				numbers = binary.LittleEndian.AppendUint32(numbers, uint32(pid))
				under++
			}
		}
		if len(numbers) > 0 {
			if _, err := s.in.Write(numbers); err != nil {
				return fmt.Errorf("tell the scout: %w", err)
			}
		}
		if under == 0 {
			return nil
		}
		n, err := s.hear(numbers[:cap(numbers)])
		if err != nil {
			return err
		}
		for answers := numbers[:n]; len(answers) > 0; answers = answers[numberSize:] {
			looked(wire.PID(binary.LittleEndian.Uint32(answers)))
			under--
		}
	}
}

// hear waits for answers, on the calling thread.
func (s *Scout) hear(answers []byte) (int, error) {
	fd := int(s.out.Fd())
	ready, err := longcall.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, answerTime)
	for errors.Is(err, unix.EINTR) {
		ready, err = longcall.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, answerTime)
	}
	if err == nil && ready == 0 {
		err = unix.ETIMEDOUT
	}
	var n int
	if err == nil {
		n, err = unix.Read(fd, answers)
	}
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err != nil {
		return 0, fmt.Errorf("hear the scout: %w", err)
	}
	return n - n%numberSize, nil // writes to a pipe are not torn
}

// Worked returns the processor time that the scout has used.
func (s *Scout) Worked() time.Duration {
	if s == nil {
		return 0
	}
	// The clock of another process: MAKE_PROCESS_CPUCLOCK of linux/posix-timers_types.h.
	const scheduled = 2
	var used unix.Timespec
	if err := unix.ClockGettime(int32(^s.cmd.Process.Pid<<3|scheduled), &used); err != nil {
		return 0 // it has ended
	}
	return time.Duration(used.Nano())
}

// Close ends the scout, and waits for its end. While the scout looks, the view must be served.
func (s *Scout) Close() error {
	err := errors.Join(s.in.Close(), s.out.Close())
	_ = s.cmd.Wait() // its status does not matter
	return err
}
