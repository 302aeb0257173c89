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

// Run is the scout: a program that [Start] has started with the scout's arguments calls only Run. It
// returns when the server has closed the pipe, or is dead.
func Run(mountpoint string) error {
	// A terminating signal goes to the whole process group, and the server may need some time to end.
	signal.Ignore(unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGPIPE)
	if err := os.WriteFile("/proc/self/comm", []byte(filepath.Base(os.Args[0])), 0); err != nil { // else it is "exe"
		return err
	}
	// The runtime cannot stop a thread that waits for the view: it must never want to. It needs
	// processors for these threads and for this one.
	debug.SetGCPercent(-1)
	runtime.GOMAXPROCS(threads + 2)
	pieces := make(chan []byte, window/piece)
	ready := make(chan uint32)
	for range threads {
		go func() { // until the process ends
			runtime.LockOSThread()
			ready <- uint32(unix.Gettid())
			for e, p := newEyes(mountpoint), []byte(nil); ; {
				p = <-pieces
				e.see(p)
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
	return share(pieces)
}

// share passes on the numbers that the server sends, until it sends no more.
func share(pieces chan<- []byte) error {
	for {
		numbers := make([]byte, window*numberSize)
		n, err := unix.Read(unix.Stdin, numbers)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return fmt.Errorf("hear the server: %w", err)
		case n == 0:
			return nil
		}
		for rest := numbers[:n-n%numberSize]; len(rest) > 0; { // writes to a pipe are not torn
			next := rest[:min(piece*numberSize, len(rest))]
			rest = rest[len(next):]
			pieces <- next
		}
	}
}
