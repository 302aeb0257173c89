package slave

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"bproc/slave/journal"
	"bproc/wire"
)

// stdio are the standard descriptors of one process that was started from the front
// end. They live longer than the stream to its client, which may end with the session
// and be followed by another.
type stdio struct {
	pid     wire.PID
	launch  uint64
	uid     uint32
	pipes   *pipes
	slot    *journal.Slot
	in      *input     // nil: not a stream
	out     [2]*output // standard output and error; nil: not a stream
	working atomic.Int32
	start   func(func())      // a goroutine
	drop    func(name string) // has a pipe not kept open any more
	over    func()            // nothing is at work on the descriptors any more

	mu      sync.Mutex
	at      *attachment
	since   time.Time // when the last stream was lost with its session
	ended   bool      // the process has ended
	left    bool      // the client has
	leaving bool      // the node is
}

// newStdio makes the descriptors of a process that is going to be started.
func (s *stdios) newStdio(spawn *wire.Spawn) (*stdio, error) {
	pipes, err := openPipes(spawn)
	if err != nil {
		return nil, err
	}
	d := &stdio{pid: spawn.PID, launch: spawn.Launch, uid: spawn.UID, pipes: pipes}
	d.slot, err = s.journal.Take()
	if err == nil {
		err = s.keepPipes(d)
	}
	if err == nil {
		d.slot.Use(factsOf(spawn))
		err = s.connect(d)
	}
	if err != nil {
		pipes.closeFar()
		pipes.closeNear()
		if d.slot != nil {
			d.slot.Release()
		}
		return nil, fmt.Errorf("descriptors of %d: %w", spawn.PID, err)
	}
	return d, nil
}

func factsOf(spawn *wire.Spawn) journal.Facts {
	f := journal.Facts{PID: spawn.PID, UID: spawn.UID, Launch: spawn.Launch}
	for fd, d := range spawn.Command.Stdio {
		f.Streams[fd] = d.Mode == wire.DescriptorStream
	}
	return f
}

// connect makes the ways between the pipes of d and its slot.
func (s *stdios) connect(d *stdio) (err error) {
	d.working.Store(2) // the process, until it runs or does not, and the client, until it leaves
	d.start, d.drop, d.over = s.work.Go, s.drop, func() { s.forget(d) }
	if f := d.pipes.near[0]; f != nil {
		d.in, err = newInput(f, d.slot.Input, d.start, func() { d.drop(d.keptInput()) }, d.done)
		if err != nil {
			return err
		}
		d.working.Add(1)
	}
	for i, t := range []wire.Type{wire.TypeStdout, wire.TypeStderr} {
		if f := d.pipes.near[1+i]; f != nil {
			if d.out[i], err = newOutput(t, f, d.slot.Outputs[i], s.stamp); err != nil {
				return err
			}
		}
	}
	return nil
}

// Names under which the pipes are kept.
func (d *stdio) keptInput() string  { return fmt.Sprintf("in %d", d.slot.Number()) }
func (d *stdio) keptOutput() string { return fmt.Sprintf("out %d", d.slot.Number()) }

// keepPipes has the pipes outlive this daemon. As long as they are kept, their
// processes have no end of file and no SIGPIPE.
func (s *stdios) keepPipes(d *stdio) error {
	var output []*os.File
	for _, f := range d.pipes.near[1:] {
		if f != nil {
			output = append(output, f)
		}
	}
	if len(output) > 0 {
		if err := s.keep(d.keptOutput(), output...); err != nil {
			return err
		}
	}
	if in := d.pipes.near[0]; in != nil {
		return s.keep(d.keptInput(), in)
	}
	return nil
}

// done is for each that was at work on the descriptors.
func (d *stdio) done() {
	if d.working.Add(-1) == 0 {
		d.over()
	}
}

// run is for when the process runs: its output is read from now on.
func (d *stdio) run() {
	for _, o := range d.out {
		if o != nil {
			d.working.Add(1)
			d.start(func() {
				defer d.done()
				o.run()
			})
		}
	}
	d.done()
}

// fail is for when the process could not be started.
func (d *stdio) fail() {
	d.pipes.closeOutput()
	d.close()
	d.done()
}

// attach goes on with another stream: with output from the bytes with these numbers,
// after first was written, which is told how much input has been taken.
func (d *stdio) attach(a *attachment, from [2]uint64, first func(taken uint64) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.leaving:
		return errLeaving
	case d.left:
		return errNoProcess
	}
	for i, o := range d.out {
		if o != nil && (from[i] < o.kept.Taken() || from[i] > o.kept.Head()) {
			return fmt.Errorf("%w: output from byte %d of %d to %d", wire.ErrFrame, from[i], o.kept.Taken(), o.kept.Head())
		}
	}
	if d.at != nil {
		d.at.stop()
	}
	d.at = a
	taken := uint64(0)
	if d.in != nil {
		taken = d.in.attach(a)
	}
	if err := first(taken); err != nil {
		return err
	}
	for i, o := range d.out {
		if o != nil {
			o.attach(a, from[i])
		}
	}
	return nil
}

var (
	errNoProcess = fmt.Errorf("the process is not here, or its client has left: %w", unix.ESRCH)
	errLeaving   = fmt.Errorf("the daemon ends, and all processes with it: %w", unix.EHOSTDOWN)
)

// lost is for a stream that has ended with its session.
func (d *stdio) lost(a *attachment) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.at == a {
		d.at, d.since = nil, time.Now()
	}
}

// closed is for a stream whose client has left: nobody reads the output any more. What
// it has written is still to be read.
func (d *stdio) closed(a *attachment) {
	d.mu.Lock()
	current := d.at == a
	d.mu.Unlock()
	if current {
		d.leave()
	}
}

// leave is for a client that has left, or does not come back.
func (d *stdio) leave() {
	d.mu.Lock()
	was := d.left
	if d.at != nil {
		d.at.stream.Close()
	}
	d.left, d.at = true, nil
	d.mu.Unlock()
	if was {
		return
	}
	d.closeOutput()
	if d.in != nil {
		d.in.finish()
	}
	d.done()
}

// hangUp is for a client that has left. What it wrote before is still to come, if there
// is a stream.
func (d *stdio) hangUp() {
	d.mu.Lock()
	at := d.at
	d.mu.Unlock()
	if at == nil {
		d.leave()
	} else {
		d.closeOutput()
	}
}

// closeOutput ends the reading of output, for this and all later daemons.
func (d *stdio) closeOutput() {
	d.slot.Leave()
	d.drop(d.keptOutput())
	for _, o := range d.out {
		if o != nil {
			o.close()
		}
	}
}

// close gives everything up.
func (d *stdio) close() {
	d.leave()
	if d.in != nil {
		d.in.close()
	}
}

// frame takes what comes in a stream.
func (d *stdio) frame(a *attachment, h wire.Header, data []byte) error {
	switch h.Type {
	case wire.TypeStdin:
		if d.in != nil {
			return d.in.accept(a, data)
		}
		return nil
	case wire.TypeStdoutTaken, wire.TypeStderrTaken:
		i := 0
		if h.Type == wire.TypeStderrTaken {
			i = 1
		}
		if d.out[i] == nil {
			return fmt.Errorf("%w: output that is no stream is taken", wire.ErrFrame)
		}
		return d.out[i].taken(h.Number)
	default:
		return fmt.Errorf("%w: type %d among the data of a process", wire.ErrFrame, h.Type)
	}
}
