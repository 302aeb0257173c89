package guard

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/inherited"
	"bproc/internal/pidfd"
)

// Run is the guard: a program that [While] has started with the guard's arguments calls only Run.
// It returns when the server does not need it any more, or is dead. With detach it keeps its standard
// error output only until it has found the first file system.
func Run(detach bool) error {
	// A terminating signal goes to the whole process group, and the server may need some time to
	// end. SIGPIPE would end the guard when nobody reads its errors.
	signal.Ignore(unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGPIPE)
	death := make(chan os.Signal, 1)
	signal.Notify(death, died)
	if err := os.WriteFile("/proc/self/comm", []byte(filepath.Base(os.Args[0])), 0); err != nil { // else it is "exe"
		return err
	}
	server, err := unix.PidfdOpen(os.Getppid(), 0)
	if err != nil {
		return fmt.Errorf("descriptor of the server: %w", err)
	}
	if err := tell(); err != nil {
		return err
	}
	told := make(chan string)
	go listen(told)
	var watched []connection
	for {
		select {
		case mountpoint, more := <-told:
			if !more {
				return nil
			}
			c, err := find(mountpoint)
			if err != nil {
				return err
			}
			watched = append(watched, c)
			if detach {
				if err := inherited.DropStderr(); err != nil {
					return err
				}
			}
			if err := tell(); err != nil {
				return err
			}
		case <-death:
			if pidfd.Ended(server, grace) {
				return nil // so are the connections, and their numbers may have been reused
			}
			var errs []error
			for _, c := range watched {
				errs = append(errs, c.abort())
			}
			return errors.Join(errs...)
		}
	}
}

// tell answers the server.
func tell() error {
	if _, err := os.Stdout.Write([]byte{'\n'}); err != nil {
		return fmt.Errorf("answer the server: %w", err)
	}
	return nil
}

// listen passes on the mount points that the server sends.
func listen(told chan<- string) {
	defer close(told)
	for in := bufio.NewReader(os.Stdin); ; {
		text, err := in.ReadString(0)
		if err != nil {
			return // io.EOF; there is no other error
		}
		told <- strings.TrimSuffix(text, "\x00")
	}
}

// grace is how long a process that nothing delays takes from the death of its first thread to that
// of its last.
const grace = 100 * time.Millisecond
