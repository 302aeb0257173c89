package slave

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"bproc/slave/core"
	"bproc/slave/stdio"
	"bproc/wire"
	"bproc/wire/link"
)

// process is a process stream: the bytes of the standard descriptors of one process,
// which it starts, or with which it goes on.
type process struct {
	n       *node
	stream  link.Stream
	session core.Session
	ended   <-chan struct{} // closed when the session ends
	pid     wire.PID
}

var _ stdio.Patient = link.Stream(nil) // else ends of output are never late

// serve handles a process stream, from its first frame to its end.
func (p *process) serve(reader *wire.Reader, first wire.Message) (err error) {
	a := stdio.NewClient(p.stream)
	var d *stdio.Descriptors
	switch m := first.(type) {
	case *wire.Spawn:
		p.pid = m.PID
		d, err = p.start(a, m)
	case *wire.Resume:
		p.pid = m.PID
		d, err = p.n.resumeFor(a, m)
	default:
		err = fmt.Errorf("%w: type %d opens a process stream", wire.ErrFrame, first.Type())
	}
	if err != nil {
		return err
	}
	err = d.Read(reader, a)
	if p.lost() {
		d.Lost(a)
	} else {
		d.Closed(a)
	}
	return err
}

// lost reports whether the stream has ended because its session has: its client has
// not said anything then.
func (p *process) lost() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// errNoLaunch is why nothing is started. The master asks again in the next session if need be.
var errNoLaunch = errors.New("the session has ended, or the process is there")

// start starts a process. It may wait for init, and so last longer than the session.
func (p *process) start(a *stdio.Client, spawn *wire.Spawn) (*stdio.Descriptors, error) {
	err := p.n.supply.await(p.ended)
	if p.lost() {
		return nil, errNoLaunch
	}
	var d *stdio.Descriptors
	if err == nil {
		p.n.state.step(core.Wanted{PID: spawn.PID})
		err = p.n.space.Written()
	}
	if err == nil {
		d, err = p.n.stdios.Make(spawn)
	}
	if err == nil {
		if err = d.Attach(a, [2]uint64{}, func(uint64) error { return nil }); err != nil {
			d.CloseFar()
			d.Fail()
		}
	}
	if err != nil {
		p.n.recorder.refuse(p.session, spawn, errnoOf(err))
		return nil, err
	}
	var former *stdio.Descriptors
	if !p.n.recorder.launch(p.session, spawn, func() { former = p.n.stdios.Enter(d) }) {
		d.CloseFar()
		d.Fail()
		return nil, errNoLaunch
	}
	if former != nil {
		former.Close()
	}
	p.n.launch(spawn, d)
	return d, nil
}

// resumeFor goes on with a process for a client that has started it, or for root.
func (n *node) resumeFor(a *stdio.Client, m *wire.Resume) (*stdio.Descriptors, error) {
	answer := func(r *wire.Resumed) error {
		frame, err := wire.Append(nil, 0, r)
		if err == nil {
			err = a.Write(frame)
		}
		return err
	}
	d, err := n.stdios.Of(m)
	if err == nil {
		err = d.Attach(a, m.Output, func(taken uint64) error { return answer(&wire.Resumed{Taken: taken}) })
	}
	if err != nil {
		errno := errnoOf(err)
		if errors.Is(err, wire.ErrFrame) {
			errno = unix.EINVAL
		}
		return nil, errors.Join(err, answer(&wire.Resumed{Errno: uint32(errno)}))
	}
	return d, nil
}

func errnoOf(err error) unix.Errno {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return unix.EIO
}
