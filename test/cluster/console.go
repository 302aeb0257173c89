package cluster

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// console is the terminal that a machine has as /dev/console (pty(7)). Its output goes to a log.
type console struct {
	path   string // of the machine's end
	master *os.File
	slave  *os.File // held open: otherwise reads end when no process has it open
	done   chan struct{}
}

func newConsole(log string) (_ *console, err error) {
	c := &console{done: make(chan struct{})}
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	if c.master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if c.slave, err = c.open(); err != nil {
		return nil, errors.Join(err, file.Close(), c.master.Close())
	}
	go func() {
		defer close(c.done)
		defer file.Close()
		_, _ = io.Copy(file, c.master) // ends with close
	}()
	return c, nil
}

// open opens the machine's end.
func (c *console) open() (*os.File, error) {
	// Through SyscallConn: Fd would make reads block in a way that Close cannot interrupt.
	raw, err := c.master.SyscallConn()
	if err != nil {
		return nil, err
	}
	var number int
	var unlockErr, numberErr error
	err = raw.Control(func(fd uintptr) {
		unlockErr = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0)
		number, numberErr = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
	})
	if err := errors.Join(err, unlockErr, numberErr); err != nil {
		return nil, fmt.Errorf("open terminal: %w", err)
	}
	c.path = fmt.Sprintf("/dev/pts/%d", number)
	return os.OpenFile(c.path, os.O_RDWR|unix.O_NOCTTY, 0)
}

func (c *console) close() {
	c.master.Close()
	c.slave.Close()
	<-c.done
}
