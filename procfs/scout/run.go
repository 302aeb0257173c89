package scout

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

const (
	threads = 4  // that look; more did not help on two processors
	piece   = 16 // processes that a thread looks into before it answers

	numberSize = 4 // bytes of a number in a pipe, little-endian
)

// all is the number for which the scout lists the view.
const all = 0

// task is what a thread is to look into.
type task struct {
	count   int
	numbers [piece]uint32
}

// Run is the scout: a program that [Start] has started with the scout's arguments calls only Run. It
// returns when the server has closed the pipe.
func Run(mountpoint string) error {
	// A terminating signal goes to the whole process group, and the server may need some time to end.
	signal.Ignore(unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGPIPE)
	if err := os.WriteFile("/proc/self/comm", []byte(filepath.Base(os.Args[0])), 0); err != nil { // else it is "exe"
		return err
	}
	// The runtime cannot stop a thread that waits for the view: it must never want to. So memory is
	// never collected, and nothing is allocated for a task. The runtime needs processors for these
	// threads and for this one.
	debug.SetGCPercent(-1)
	runtime.GOMAXPROCS(threads + 2)
	tasks := make(chan task)
	ready := make(chan uint32)
	for range threads {
		go func() { // until the process ends
			runtime.LockOSThread()
			ready <- uint32(unix.Gettid())
			for l := newLooker(mountpoint); ; {
				l.do(<-tasks)
			}
		}()
	}
	var hello []byte
	for range threads {
		hello = binary.LittleEndian.AppendUint32(hello, <-ready)
	}
	if _, err := unix.Write(unix.Stdout, hello); err != nil {
		return fmt.Errorf("answer the server: %w", err)
	}
	return share(tasks)
}

// share passes on the numbers that the server sends, until it sends no more.
func share(tasks chan<- task) error {
	numbers := make([]byte, window*numberSize)
	for {
		n, err := unix.Read(unix.Stdin, numbers)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return fmt.Errorf("read from the server: %w", err)
		case n == 0:
			return nil
		}
		var next task
		for at := 0; at+numberSize <= n; at += numberSize { // writes to a pipe are not torn
			next.numbers[next.count] = binary.LittleEndian.Uint32(numbers[at:])
			next.count++
			if next.count == piece {
				tasks <- next
				next.count = 0
			}
		}
		if next.count > 0 {
			tasks <- next
		}
	}
}
