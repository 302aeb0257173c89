package ghost

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"time"

	"bproc/pidmap"
)

// Files of proc_sys_kernel(5). The first belongs to the PID namespace of the process that writes to
// it. So does the second from Linux 6.14 on; before, it was global.
const (
	lastPIDFile = "/proc/sys/kernel/ns_last_pid"
	maxPIDFile  = "/proc/sys/kernel/pid_max"
)

// cursorStart is where the cursor is put back to. The kernel itself reserves lower numbers for what
// starts at boot (RESERVED_PIDS).
const cursorStart = 300

// forkRate is an upper bound of the numbers that a front end can use up in a second, with a wide
// margin: no machine makes so many tasks.
const forkRate = 200_000

// maxLook is how long the cursor goes unwatched.
const maxLook = 5 * time.Second

// WatchCursor keeps the front end's own kernel from giving out numbers of the node zone: it puts
// the allocation cursor back before the cursor reaches them. The kernel skips numbers in use, so
// nothing else has to be done.
func WatchCursor(ctx context.Context, log *slog.Logger) error {
	if _, err := raiseMax(); err != nil {
		return err
	}
	for {
		raiseAgain(log) // others set it, too, for example sysctl --system
		last, err := readNumber(lastPIDFile)
		if err != nil {
			return fmt.Errorf("allocation cursor: %w; the kernel needs CONFIG_CHECKPOINT_RESTORE", err)
		}
		back, look := nextLook(last)
		if back {
			if err := os.WriteFile(lastPIDFile, []byte(strconv.Itoa(cursorStart)), 0); err != nil {
				return fmt.Errorf("put the allocation cursor back: %w", err)
			}
			log.Debug("allocation cursor put back", "pid", last)
		}
		select {
		case <-time.After(look):
		case <-ctx.Done():
			return nil
		}
	}
}

// nextLook decides, from the number given out last, whether to put the cursor back, and when to
// look at it again.
func nextLook(last int) (back bool, look time.Duration) {
	end := int(pidmap.LocalEnd)
	if last >= end {
		back, last = true, cursorStart
	}
	look = time.Duration(end-last) * time.Second / forkRate
	return back, min(max(look, time.Millisecond), maxLook)
}

// raiseMax makes the numbers of the node zone possible, and returns the former limit.
func raiseMax() (was int, err error) {
	if was, err = readNumber(maxPIDFile); err != nil {
		return 0, fmt.Errorf("greatest process number: %w", err)
	}
	if was >= int(pidmap.Max) {
		return was, nil
	}
	if err := os.WriteFile(maxPIDFile, []byte(strconv.Itoa(int(pidmap.Max))), 0); err != nil {
		return was, fmt.Errorf("raise the greatest process number to %d: %w", pidmap.Max, err)
	}
	return was, nil
}

// raiseAgain is raiseMax for the case that the limit was lowered, and reports whether it has raised
// it.
func raiseAgain(log *slog.Logger) (raised bool) {
	was, err := raiseMax()
	switch {
	case err != nil:
		log.Error("kernel.pid_max was lowered; processes that are born on nodes are killed", "limit", was, "err", err)
	case was < int(pidmap.Max):
		log.Warn("kernel.pid_max was lowered, and is set again; see /etc/sysctl.d", "limit", was, "now", int(pidmap.Max))
	}
	return err == nil && was < int(pidmap.Max)
}

func readNumber(path string) (int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(bytes.TrimSpace(text)))
}
