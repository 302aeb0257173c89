package scout

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/longcall"
	"bproc/wire"
)

// window is the number of processes that the scout may have been sent and has not answered for. It
// fits into its pipes.
const window = 256

// Bounds of the wait for an answer.
const (
	startTime  = 5 * time.Second
	answerTime = time.Minute // some lookups wait for the nodes, each for two seconds at most
	stopTime   = time.Second // for a scout that was stopped, together with the server
)

// Scout is the scout process of a view.
type Scout struct {
	cmd     *exec.Cmd
	in, out *os.File
	answers int // descriptor of out
	threads []uint32
	ended   chan struct{} // closed when the process has ended

	mu      sync.Mutex // held while the scout is used
	numbers []byte     // room for numbers and for answers
	err     error      // it has failed
	dead    atomic.Bool
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
	s := &Scout{in: told, out: answers, answers: int(answers.Fd()), ended: make(chan struct{}), numbers: make([]byte, window*numberSize), cmd: &exec.Cmd{
		Path: "/proc/self/exe", Args: append(slices.Clone(argv), mountpoint), Dir: "/", Stdin: in, Stdout: out,
		// A signal of the runtime would interrupt a wait for the view; see Run for the memory.
		Env:         append(os.Environ(), "GODEBUG=asyncpreemptoff=1", "GOMEMLIMIT=off"),
		SysProcAttr: &unix.SysProcAttr{Pdeathsig: unix.SIGKILL},
	}}
	err = s.start()
	_ = out.Close() // or the end of the scout would not be seen
	if err != nil {
		return nil, errors.Join(err, s.in.Close(), s.out.Close())
	}
	hello := make([]byte, threads*numberSize)
	n, err := s.receive(hello, startTime)
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

// start starts the process on a thread that lives as long as that: it is killed when the thread dies
// (PR_SET_PDEATHSIG of prctl(2)).
func (s *Scout) start() error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := s.cmd.Start()
		started <- err
		if err == nil {
			_ = s.cmd.Wait() // its status does not matter
			s.dead.Store(true)
			close(s.ended)
		}
	}()
	return <-started
}

// Is reports whether a thread is one of the scout's. A view without a scout has nil.
func (s *Scout) Is(thread uint32) bool {
	return s != nil && !s.dead.Load() && slices.Contains(s.threads, thread)
}

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
		s.Kill()
	}
	return s.err
}

// Kill kills the scout. A call of Look returns.
func (s *Scout) Kill() {
	s.dead.Store(true)
	_ = s.cmd.Process.Kill() // it may have ended
}

func (s *Scout) look(next func() (wire.PID, bool), looked func(wire.PID)) error {
	more := true
	for under := 0; ; {
		numbers := s.numbers[:0]
		for more && under < window {
			var pid wire.PID
			if pid, more = next(); more {
				numbers = binary.LittleEndian.AppendUint32(numbers, uint32(pid))
				under++
			}
		}
		if len(numbers) > 0 {
			if _, err := s.in.Write(numbers); err != nil {
				return fmt.Errorf("write to the scout: %w", err)
			}
		}
		if under == 0 {
			return nil
		}
		n, err := s.receive(s.numbers, answerTime)
		if err != nil {
			return err
		}
		for answers := s.numbers[:n]; len(answers) > 0; answers = answers[numberSize:] {
			looked(wire.PID(binary.LittleEndian.Uint32(answers)))
			under--
		}
	}
}

// receive waits for answers, on the calling thread.
func (s *Scout) receive(answers []byte, within time.Duration) (int, error) {
	ready, err := wait(s.answers, within)
	if err == nil && !ready {
		ready, err = wait(s.answers, stopTime)
	}
	if err == nil && !ready {
		err = unix.ETIMEDOUT
	}
	var n int
	if err == nil {
		n, err = unix.Read(s.answers, answers)
	}
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err != nil {
		return 0, fmt.Errorf("read from the scout: %w", err)
	}
	return n - n%numberSize, nil // writes to a pipe are not torn
}

// wait waits until a descriptor can be read.
func wait(fd int, length time.Duration) (ready bool, err error) {
	for {
		n, err := longcall.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, length)
		if !errors.Is(err, unix.EINTR) {
			return n > 0, err
		}
	}
}

// Worked returns the processor time that the scout has used.
func (s *Scout) Worked() time.Duration {
	if s == nil || s.dead.Load() {
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
	s.Kill()
	<-s.ended
	return errors.Join(s.in.Close(), s.out.Close())
}
