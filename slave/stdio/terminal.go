package stdio

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// terminal makes a terminal for a process that is going to be started.
func (p *pipes) terminal(spawn *wire.Spawn, how *wire.Terminal) error {
	for fd, want := range [3]wire.DescriptorMode{wire.DescriptorStream, wire.DescriptorStream, wire.DescriptorTerminal} {
		if spawn.Command.Stdio[fd].Mode != want {
			return unix.EINVAL
		}
	}
	return p.openTerminal(spawn.UID, how)
}

// openTerminal makes a new terminal (pty(7)) instead of pipes. The near ends are two
// descriptors of its master side, the far ends two of its other side: the first becomes
// the controlling terminal of the process. The size of struct termios is that of the
// kernel.
func (p *pipes) openTerminal(uid uint32, how *wire.Terminal) error {
	if n := len(how.Modes); n != 0 && n != sizeofTermios {
		return fmt.Errorf("modes of %d bytes: %w", n, unix.EINVAL)
	}
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	p.near[1] = os.NewFile(uintptr(fd), "terminal of a process")
	if p.near[0], err = duplicate(fd, "terminal to a process"); err != nil {
		return err
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return fmt.Errorf("unlock: %w", err)
	}
	peer, err := openPeer(fd)
	if err != nil {
		return err
	}
	p.end[0] = os.NewFile(uintptr(peer), "a terminal")
	if p.end[1], err = duplicate(peer, "a terminal"); err != nil {
		return err
	}
	if err := unix.Fchown(peer, int(uid), -1); err != nil { // as grantpt(3) does for its caller
		return fmt.Errorf("owner: %w", err)
	}
	if len(how.Modes) > 0 {
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(peer), unix.TCSETS, uintptr(unsafe.Pointer(&how.Modes[0]))); errno != 0 {
			return fmt.Errorf("modes: %w", errno)
		}
	}
	return setSize(fd, wire.Size(how.Size))
}

// sizeofTermios is the size of the kernel's struct termios on 64-bit Linux, four flags,
// the line discipline and 19 characters.
const sizeofTermios = 36

// openPeer opens the other side of a terminal without looking for it in a file system
// (ioctl_tty(2): TIOCGPTPEER).
func openPeer(master int) (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if errno != 0 {
		return -1, fmt.Errorf("other side: %w", errno)
	}
	return int(fd), nil
}

func duplicate(fd int, name string) (*os.File, error) {
	other, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(other), name), nil
}

// setSize sets the size of a terminal. If it is another one, the kernel sends SIGWINCH to
// the foreground.
func setSize(fd int, size wire.Size) error {
	rows, columns, width, height := size.Fields()
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns, Xpixel: width, Ypixel: height}); err != nil {
		return fmt.Errorf("size: %w", err)
	}
	return nil
}

// resize sets the size of the terminal. One that nobody reads any more keeps its size.
func (d *Descriptors) resize(size wire.Size) error {
	if !d.terminal {
		return fmt.Errorf("%w: a process without a terminal is to get another size of it", wire.ErrFrame)
	}
	if d.out[0] != nil {
		_ = d.out[0].pipe.Control(func(fd uintptr) { _ = setSize(int(fd), size) })
	}
	return nil
}
