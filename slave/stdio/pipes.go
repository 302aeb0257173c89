package stdio

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// pipes are the pipes between the daemon and one process: near ends here, far
// ends become the process's standard descriptors.
type pipes struct {
	near [3]*os.File
	end  [3]*os.File
}

func openPipes(spawn *wire.Spawn) (*pipes, error) {
	p := new(pipes)
	if how := spawn.Command.Terminal; how != nil {
		if err := p.terminal(spawn, how); err != nil {
			p.closeFar()
			p.closeNear()
			return nil, fmt.Errorf("terminal: %w", err)
		}
		return p, nil
	}
	for fd, d := range spawn.Command.Stdio {
		if d.Mode != wire.DescriptorStream {
			continue
		}
		if err := p.open(fd); err != nil {
			p.closeFar()
			p.closeNear()
			return nil, fmt.Errorf("pipe for descriptor %d: %w", fd, err)
		}
	}
	return p, nil
}

// open makes the pipe for one descriptor. Only the daemon's end is made
// non-blocking: the flag belongs to the open file, and programs do not expect
// it on theirs.
func (p *pipes) open(fd int) error {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return err
	}
	near, far := ends[0], ends[1]
	if fd == 0 {
		near, far = far, near
	}
	p.end[fd] = os.NewFile(uintptr(far), "pipe of a process")
	err := unix.SetNonblock(near, true)
	p.near[fd] = os.NewFile(uintptr(near), "pipe to a process")
	return err
}

// far returns the process's ends, in order of descriptors.
func (p *pipes) far() []*os.File {
	var files []*os.File
	for _, f := range p.end {
		if f != nil {
			files = append(files, f)
		}
	}
	return files
}

func (p *pipes) closeFar() {
	for fd, f := range p.end {
		if f != nil {
			f.Close()
			p.end[fd] = nil
		}
	}
}

func (p *pipes) closeNear() {
	for _, f := range p.near {
		if f != nil {
			f.Close()
		}
	}
}

// closeOutput ends the reading of output: a process that still writes gets
// SIGPIPE, as it would from a pipe whose reader has gone.
func (p *pipes) closeOutput() {
	for _, f := range p.near[1:] {
		if f != nil {
			f.Close()
		}
	}
}
