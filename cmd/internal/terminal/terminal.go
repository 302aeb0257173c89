package terminal

import (
	"fmt"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/internal/client"
)

// modes is the kernel's struct termios on 64-bit Linux.
type modes [36]byte

// flags are the first fields of struct termios, before the line discipline and the characters.
type flags struct{ input, output, control, local uint32 }

const characters = 17 // offset of the characters

func (m *modes) flags() *flags { return (*flags)(unsafe.Pointer(m)) }

func getModes(fd int) (m modes, err error) {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TCGETS, uintptr(unsafe.Pointer(&m))); errno != 0 {
		return m, errno
	}
	return m, nil
}

func setModes(fd int, m *modes) error {
	for {
		// TCSETSW takes effect after pending output, so the node's last output is shown with its
		// settings.
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TCSETSW, uintptr(unsafe.Pointer(m)))
		if errno == 0 {
			return nil
		}
		if errno != unix.EINTR {
			return errno
		}
	}
}

// Terminal is the terminal at standard input.
type Terminal struct {
	fd    int
	saved modes
	ready chan struct{} // closed when keys may be read

	mu     sync.Mutex
	raw    bool
	begun  bool
	closed bool
	guard  *guard
}

// Of returns a file as a terminal, or nil if it is none.
func Of(file any) *Terminal {
	f, ok := client.FileOf(file)
	if !ok {
		return nil
	}
	t := &Terminal{fd: int(f.Fd()), ready: make(chan struct{})}
	var err error
	if t.saved, err = getModes(t.fd); err != nil {
		return nil
	}
	return t
}

// Wanted returns the initial size and settings for a terminal on a node: those of this terminal or,
// if t is nil, the defaults.
func (t *Terminal) Wanted() *client.Terminal {
	if t == nil {
		return new(client.Terminal)
	}
	return &client.Terminal{Size: t.Size(), Modes: t.saved[:]}
}

// Size returns the size, or 0 if it is not known.
func (t *Terminal) Size() client.Size {
	ws, err := unix.IoctlGetWinsize(t.fd, unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return client.NewSize(ws.Row, ws.Col, ws.Xpixel, ws.Ypixel)
}

// Raw has every key go to the node from now on. It may be called again, also after
// Restore. After Close it does nothing.
func (t *Terminal) Raw() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	if !t.begun {
		g, err := startGuard(t.fd, &t.saved)
		if err != nil {
			return fmt.Errorf("guard of the terminal: %w", err)
		}
		t.guard, t.begun = g, true
		defer close(t.ready)
	}
	m := t.saved
	f := m.flags()
	// As ssh(1) does: cfmakeraw(3), but without a change of the character size.
	f.input = f.input&^(unix.ISTRIP|unix.INLCR|unix.IGNCR|unix.ICRNL|unix.IXON|unix.IXANY|unix.IXOFF|unix.IUCLC) | unix.IGNPAR
	f.output &^= unix.OPOST
	f.local &^= unix.ISIG | unix.ICANON | unix.ECHO | unix.ECHOE | unix.ECHOK | unix.ECHONL | unix.IEXTEN
	m[characters+unix.VMIN], m[characters+unix.VTIME] = 1, 0
	if err := setModes(t.fd, &m); err != nil {
		return fmt.Errorf("settings of the terminal: %w", err)
	}
	t.raw = true
	return nil
}

// Restore restores the original settings of the terminal.
func (t *Terminal) Restore() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.restoreLocked()
}

// IsRaw reports whether the settings are those of Raw: a line feed is no new line, for example.
func (t *Terminal) IsRaw() bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.raw
}

func (t *Terminal) restoreLocked() {
	if t.raw {
		_ = setModes(t.fd, &t.saved) // fails on a terminal that has hung up
		t.raw = false
	}
}

// Close restores the settings and dismisses the guard.
func (t *Terminal) Close() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.restoreLocked()
	t.guard.dismiss()
	t.guard, t.closed = nil, true
}

// Stop stops this process group as Ctrl-Z does. Meanwhile the original settings are in effect.
func (t *Terminal) Stop() error {
	t.Restore()
	if err := unix.Kill(0, unix.SIGTSTP); err != nil {
		return err
	}
	// Another thread may get the signal a moment later. An orphaned process group does not stop.
	time.Sleep(stopTime)
	return t.Raw()
}

// stopTime is how long Stop waits for the stop signal to arrive.
const stopTime = 100 * time.Millisecond

// Resume makes the terminal raw again after another process has stopped and continued this one.
func (t *Terminal) Resume() {
	if t == nil {
		return
	}
	t.mu.Lock()
	raw := t.raw
	t.mu.Unlock()
	if raw {
		_ = t.Raw()
	}
}
