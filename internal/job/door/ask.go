package door

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
)

// ErrNone is the error if the service does not run.
var ErrNone = errors.New("the service for jobs of ordinary users (bproc-jobs) does not run: root starts it with 'systemctl enable --now bproc-jobs' or 'bpjob serve'")

// Ask makes the service execute a command with the given standard descriptors, and forwards signals
// to it. It returns the exit code of the command.
func Ask(socket string, r Request, stdio [descriptors]*os.File, signals <-chan os.Signal) (int, error) {
	conn, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: socket, Net: "unixpacket"})
	if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED) {
		return 0, ErrNone
	}
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	if err := send(conn, r, stdio[:]...); err != nil {
		return 0, fmt.Errorf("service for jobs: %w", err)
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case s := <-signals:
				if n, ok := s.(syscall.Signal); ok {
					_ = send(conn, int(n)) // fails if the command has ended
				}
			case <-done:
				return
			}
		}
	}()
	var a Answer
	if _, err := receive(conn, &a); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("it has ended")
		}
		return 0, fmt.Errorf("service for jobs: %w", err)
	}
	if a.Error != "" {
		return 0, errors.New(a.Error)
	}
	return a.Code, nil
}
