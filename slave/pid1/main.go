package pid1

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"bproc/slave/pid1/filter"
)

// ListenerFD is the descriptor of the listening socket that bpinit inherits.
// All others above it are closed.
const ListenerFD = 3

// Main is the program bpinit. It returns only when it cannot go on.
func Main(ctx context.Context, log *slog.Logger) error {
	if os.Getpid() != 1 {
		return errors.New("not PID 1 of a PID namespace: the slave daemon starts this program")
	}
	if err := Harden(log); err != nil {
		return fmt.Errorf("harden init: %w", err)
	}
	listener, err := inheritedListener()
	if err != nil {
		return err
	}
	StartThreads()
	notify, err := filter.Install(0)
	if err != nil {
		return err
	}
	in, err := New(Config{Listener: listener, Notify: notify, Log: log})
	if err != nil {
		return err
	}
	return in.Run(ctx)
}

func inheritedListener() (*net.UnixListener, error) {
	if err := unix.CloseRange(ListenerFD+1, ^uint(0)>>32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return nil, fmt.Errorf("descriptors inherited: %w", err)
	}
	file := os.NewFile(ListenerFD, "listener")
	defer file.Close()
	l, err := net.FileListener(file) // a copy, close-on-exec
	if err != nil {
		return nil, fmt.Errorf("inherited socket: %w", err)
	}
	listener, ok := l.(*net.UnixListener)
	if !ok {
		return nil, fmt.Errorf("inherited socket is %T, not a unix socket", l)
	}
	listener.SetUnlinkOnClose(false)
	return listener, nil
}
