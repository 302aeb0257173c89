package pid1

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"bproc/internal/inherited"
	"bproc/internal/sysmon"
	"bproc/pidmap"
	"bproc/slave/pid1/filter"
)

// ListenerFD is the descriptor of the listening socket that bpinit inherits. All descriptors above
// it are made close-on-exec.
const ListenerFD = 3

// Main is the program bpinit, with its arguments. It returns only when it cannot go on.
func Main(ctx context.Context, args []string, log *slog.Logger) error {
	if os.Getpid() != 1 {
		return errors.New("not PID 1 of a PID namespace: the slave daemon starts this program")
	}
	home, err := filter.ParseHome(args)
	if err != nil {
		return err
	}
	if err := renumber(); err != nil {
		return err
	}
	if err := Harden(log); err != nil {
		return fmt.Errorf("harden init: %w", err)
	}
	if err := sysmon.Calm(); err != nil {
		log.Warn("init takes more processor time than it need", "err", err)
	}
	listener, err := inheritedListener()
	if err != nil {
		return err
	}
	StartThreads()
	cookie, err := newCookie()
	if err != nil {
		return err
	}
	notify, err := filter.Install(cookie, home)
	if err != nil {
		return err
	}
	in, err := New(Config{Listener: listener, Notify: notify, Cookie: cookie, Log: log})
	if err != nil {
		return err
	}
	if err := protect(); err != nil {
		log.Warn("root of the space can change what numbers are given", "err", err)
	}
	return in.Run(ctx)
}

// settings are for the Go runtime, which reads them when it starts. Without preemption by signals
// it makes no calls of tgkill(2), which the supervisor would have to decide while one of init's
// threads waits.
const settings = "GODEBUG=asyncpreemptoff=1"

// renumber executes this program again, unless that has been done. The threads of this process then
// have numbers between the zones, where the front end has no processes. The kernel gave the present
// threads the lowest numbers, which on a front end in a container are those of its sessions.
func renumber() error {
	env := os.Environ()
	if slices.Contains(env, settings) {
		return nil
	}
	if err := raisePIDMax(); err != nil {
		return fmt.Errorf("limit of process numbers: %w", err)
	}
	if err := os.WriteFile(cursorFile, []byte(strconv.Itoa(int(pidmap.LocalEnd))), 0); err != nil {
		return fmt.Errorf("allocation cursor (CONFIG_CHECKPOINT_RESTORE): %w", err)
	}
	const self = "/proc/self/exe"
	if err := unix.Exec(self, os.Args, append(env, settings)); err != nil {
		return fmt.Errorf("execute %s: %w", self, err)
	}
	return nil
}

// newCookie returns a number that nobody can guess. It is not 0, with which no call passes.
func newCookie() (uint64, error) {
	var b [8]byte
	for {
		if _, err := rand.Read(b[:]); err != nil {
			return 0, fmt.Errorf("random number: %w", err)
		}
		if cookie := binary.NativeEndian.Uint64(b[:]); cookie != 0 {
			return cookie, nil
		}
	}
}

func inheritedListener() (*net.UnixListener, error) {
	if err := inherited.CloseOnExec(ListenerFD + 1); err != nil {
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
