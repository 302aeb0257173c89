package stdio

import (
	"errors"
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/internal/widepipe"
	"bproc/wire"
)

func streams(modes [3]wire.DescriptorMode) *wire.Spawn {
	spawn := new(wire.Spawn)
	for fd, mode := range modes {
		spawn.Command.Stdio[fd].Mode = mode
	}
	return spawn
}

// flags returns the flags of an open file (fcntl(2): F_GETFL) and of its
// descriptor (F_GETFD). It does not use Fd, which would change them.
func flags(t *testing.T, f *os.File) (file, descriptor int) {
	t.Helper()
	raw, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) {
		if file, err = unix.FcntlInt(fd, unix.F_GETFL, 0); err == nil {
			descriptor, err = unix.FcntlInt(fd, unix.F_GETFD, 0)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file, descriptor
}

func TestPipes(t *testing.T) {
	const null, stream, file = wire.DescriptorNull, wire.DescriptorStream, wire.DescriptorFile
	for _, modes := range [][3]wire.DescriptorMode{
		{null, null, null}, {stream, null, file}, {null, stream, stream}, {stream, stream, stream}, {file, file, stream},
	} {
		p, err := openPipes(streams(modes))
		if err != nil {
			t.Fatal(err)
		}
		streams := 0
		for fd, mode := range modes {
			if mode != stream {
				if p.near[fd] != nil || p.end[fd] != nil {
					t.Errorf("%v: descriptor %d has a pipe", modes, fd)
				}
				continue
			}
			if p.far()[streams] != p.end[fd] {
				t.Errorf("%v: the process's ends are not in order", modes)
			}
			streams++
			checkEnds(t, p, fd)
		}
		if got := len(p.far()); got != streams {
			t.Errorf("%v: %d ends for the process, want %d", modes, got, streams)
		}
		p.closeFar()
		if got := p.far(); len(got) != 0 {
			t.Errorf("%v: %d ends after they were closed", modes, len(got))
		}
		p.closeFar()
		p.closeNear()
	}
}

// checkEnds checks which way a pipe goes, that its ends are closed on execve,
// and that a read or write of the process waits as it would for any pipe.
func checkEnds(t *testing.T, p *pipes, fd int) {
	t.Helper()
	from, to := p.end[fd], p.near[fd]
	if fd == 0 {
		from, to = to, from
	}
	if _, err := from.WriteString("x"); err != nil {
		t.Errorf("descriptor %d: %v", fd, err)
	}
	if _, err := to.Read(make([]byte, 1)); err != nil {
		t.Errorf("descriptor %d: %v", fd, err)
	}
	for name, end := range map[string]struct {
		f        *os.File
		nonblock bool
	}{"process's": {p.end[fd], false}, "daemon's": {p.near[fd], true}} {
		file, descriptor := flags(t, end.f)
		if got := file&unix.O_NONBLOCK != 0; got != end.nonblock {
			t.Errorf("descriptor %d, %s end: O_NONBLOCK is %v, want %v", fd, name, got, end.nonblock)
		}
		if descriptor&unix.FD_CLOEXEC == 0 {
			t.Errorf("descriptor %d, %s end: no FD_CLOEXEC", fd, name)
		}
	}
}

func TestWiden(t *testing.T) {
	p, err := openPipes(streams([3]wire.DescriptorMode{1: wire.DescriptorStream}))
	if err != nil {
		t.Fatal(err)
	}
	defer p.closeNear()
	defer p.closeFar()
	widepipe.Widen(p.near[1])
	size, err := unix.FcntlInt(p.end[1].Fd(), unix.F_GETPIPE_SZ, 0)
	if err != nil || size != widepipe.Size {
		t.Errorf("got %d, %v, want %d", size, err, widepipe.Size)
	}
	if file, _ := flags(t, p.end[1]); file&unix.O_NONBLOCK != 0 {
		t.Error("the process's end has become O_NONBLOCK")
	}
	closed, _, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	widepipe.Widen(closed) // of no use, and no harm
}

// TestCloseOutput closes the daemon's ends of output under a process that
// writes, and leaves its input.
func TestCloseOutput(t *testing.T) {
	p, err := openPipes(streams([3]wire.DescriptorMode{wire.DescriptorStream, wire.DescriptorStream, wire.DescriptorNull}))
	if err != nil {
		t.Fatal(err)
	}
	defer p.closeFar()
	defer p.closeNear()
	p.closeOutput()
	if _, err := p.end[1].Write([]byte("x")); !errors.Is(err, unix.EPIPE) {
		t.Errorf("got %v, want %v", err, unix.EPIPE)
	}
	if _, err := p.near[0].WriteString("x"); err != nil {
		t.Errorf("input: %v", err)
	}
	p.closeNear()
	if got, err := io.ReadAll(p.end[0]); string(got) != "x" || err != nil {
		t.Errorf("the process reads %q, %v", got, err)
	}
}
