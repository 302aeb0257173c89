package stdio

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"bproc/slave/journal"
	"bproc/wire"
)

// Descriptors are the standard descriptors of one process that was started from the front
// end. They live longer than the stream to its client, which may end with the session
// and be followed by another.
type Descriptors struct {
	pid    wire.PID
	launch uint64
	uid    uint32
	pipes  *pipes
	slot   *journal.Slot

	terminal bool // the pipes are two descriptors of a terminal

	in      *input     // nil: not a stream
	out     [2]*output // standard output and error; nil: not a stream
	working atomic.Int32
	start   func(func())      // a goroutine
	drop    func(name string) // has a pipe not kept open any more
	over    func()            // no goroutine uses the descriptors any more

	mu      sync.Mutex
	making  bool      // a bypass is being made
	made    time.Time // when the last one was begun
	behind  bool      // another stream was attached since then: the client has given the bypass up
	at      *Client
	since   time.Time // when the last stream was lost with its session
	ended   bool      // the process has ended
	left    bool      // the client has left
	closed  bool      // the client has closed its stream; what it wrote to its bypass before may still come
	leaving bool      // the node ends
}

// Make makes the descriptors of a process that is perhaps going to be started.
func (s *Table) Make(spawn *wire.Spawn) (*Descriptors, error) {
	pipes, err := openPipes(spawn)
	if err != nil {
		return nil, err
	}
	d := &Descriptors{pid: spawn.PID, launch: spawn.Launch, uid: spawn.UID, pipes: pipes}
	d.terminal = spawn.Command.Terminal != nil
	d.slot, err = s.Journal.Take()
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
			s.Drop(d.keptInput()) // if they are kept
			s.Drop(d.keptOutput())
			d.slot.Release()
		}
		return nil, fmt.Errorf("descriptors of %d: %w", spawn.PID, err)
	}
	return d, nil
}

func factsOf(spawn *wire.Spawn) journal.Facts {
	f := journal.Facts{
		PID: spawn.PID, UID: spawn.UID, Launch: spawn.Launch,
		Terminal: spawn.Command.Terminal != nil,
	}
	for fd, d := range spawn.Command.Stdio {
		f.Streams[fd] = d.Mode == wire.DescriptorStream
	}
	return f
}

// connect makes the ways between the pipes of d and its slot.
func (s *Table) connect(d *Descriptors) (err error) {
	d.working.Store(2) // the process, until it runs or does not, and the client, until it leaves
	d.start, d.drop, d.over = s.Go, s.Drop, func() { s.forget(d) }
	if f := d.pipes.near[0]; f != nil {
		d.in, err = newInput(f, d.slot.Input, d.start, func() { d.drop(d.keptInput()) }, d.done)
		if err != nil {
			return err
		}
		d.working.Add(1)
	}
	for i, t := range []wire.Type{wire.TypeStdout, wire.TypeStderr} {
		if f := d.pipes.near[1+i]; f != nil {
			if d.out[i], err = newOutput(t, f, d.slot.Outputs[i], s.Stamp); err != nil {
				return err
			}
		}
	}
	return nil
}

// Names under which the pipes are kept.
func (d *Descriptors) keptInput() string  { return fmt.Sprintf("in %d", d.slot.Number()) }
func (d *Descriptors) keptOutput() string { return fmt.Sprintf("out %d", d.slot.Number()) }

// keepPipes has the pipes outlive this daemon. As long as they are kept, their
// processes have no end of file and no SIGPIPE.
func (s *Table) keepPipes(d *Descriptors) error {
	var output []*os.File
	for _, f := range d.pipes.near[1:] {
		if f != nil {
			output = append(output, f)
		}
	}
	if len(output) > 0 {
		if err := s.Keep(d.keptOutput(), output...); err != nil {
			return err
		}
	}
	if in := d.pipes.near[0]; in != nil {
		return s.Keep(d.keptInput(), in)
	}
	return nil
}

// done is called by each user of the descriptors when it has finished; the last one gives
// them back.
func (d *Descriptors) done() {
	if d.working.Add(-1) == 0 {
		d.over()
	}
}

// Far returns the ends of the pipes for the process, in order of descriptors.
func (d *Descriptors) Far() []*os.File { return d.pipes.far() }

// CloseFar closes the ends for the process, which has them by itself now or will never run.
func (d *Descriptors) CloseFar() { d.pipes.closeFar() }

// Run begins to read the output of the process, which runs now.
func (d *Descriptors) Run() {
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

// Fail gives up the descriptors of a process that could not be started.
func (d *Descriptors) Fail() {
	d.pipes.closeOutput()
	d.Close()
	d.done()
}

// Attach goes on with another stream: with output from the bytes with these numbers,
// after first has written its answer. The argument of first is how much input was taken.
func (d *Descriptors) Attach(a *Client, from [2]uint64, first func(taken uint64) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.leaving:
		return errLeaving
	case d.left, d.closed, a.bypass && (d.at == nil || d.behind):
		return errNoProcess
	}
	for i, o := range d.out {
		if o != nil && (from[i] < o.kept.Taken() || from[i] > o.kept.Head()) {
			return fmt.Errorf("%w: output from byte %d of %d to %d", wire.ErrFrame, from[i], o.kept.Taken(), o.kept.Head())
		}
	}
	d.replaceLocked(a)
	a.holdBack()
	defer a.goOn(d.start)
	taken := uint64(0)
	if d.in != nil {
		taken = d.in.attach(a)
	}
	if err := first(taken); err != nil {
		d.at, d.since = a.beside, time.Now() // the client does not know that it is attached
		return err
	}
	for i, o := range d.out {
		if o != nil {
			o.attach(a, from[i])
		}
	}
	return nil
}

// bypassPause is the least time between two bypasses. The port of a bypass that has ended stays in use for a
// minute, and a node has some ten thousand ports for connections to the master.
const bypassPause = 5 * time.Second

// MakeBypass records that a bypass is being made, until made is called. The error is EAGAIN if one is being made
// already, or was made within bypassPause.
func (d *Descriptors) MakeBypass() (made func(), err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	if d.making || now.Sub(d.made) < bypassPause {
		return nil, errMaking
	}
	d.making, d.made, d.behind = true, now, false
	return sync.OnceFunc(func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.making = false
	}), nil
}

// replaceLocked has a client take the place of the one that is there. A bypass takes only that of another bypass,
// and the stream is beside it.
func (d *Descriptors) replaceLocked(a *Client) {
	was := d.at
	d.behind = d.behind || !a.bypass
	switch {
	case !a.bypass && was != nil:
		was.stop()
	case !a.bypass:
	case was.bypass:
		a.beside = was.beside
		was.stopThis()
	default:
		a.beside = was
	}
	d.at = a
}

// isHereLocked reports whether a stream is that of the client that is there, or beside its bypass.
func (d *Descriptors) isHereLocked(a *Client) bool {
	return d.at != nil && (d.at == a || d.at.beside == a)
}

var (
	errNoProcess = fmt.Errorf("the process is not here, or its client has left: %w", unix.ESRCH)
	errMaking    = fmt.Errorf("a bypass of the process is being made, or was a moment ago: %w", unix.EAGAIN)
	errLeaving   = fmt.Errorf("the daemon ends, and all processes with it: %w", unix.EHOSTDOWN)
)

// Lost tells that a stream has ended with its session, or a bypass: the client comes back.
func (d *Descriptors) Lost(a *Client) {
	if d.lose(a) {
		d.leave()
	}
}

func (d *Descriptors) lose(a *Client) (left bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case !d.isHereLocked(a):
	case a.bypass:
		d.at = a.beside // which says meanwhile whether the client has left
		return d.closed
	default:
		if d.at != a {
			d.at.stopThis()
		}
		d.at, d.since = nil, time.Now()
	}
	return false
}

// Closed tells that the client has closed a stream: it does not read the output any more.
// Input that it wrote before still goes to the process, as far as it has been received.
func (d *Descriptors) Closed(a *Client) {
	d.leaveIf(func() bool {
		switch {
		case !d.isHereLocked(a):
			return false
		case d.at == a:
			return true
		}
		d.closed = true
		d.at.expire(lastInput)
		d.closeOutputLocked()
		return false
	})
}

// lastInput is how long the last input of a client that has left may be under way on its bypass.
const lastInput = 10 * time.Second

// leave gives up what is there for a client that has left, or does not come back.
func (d *Descriptors) leave() { d.leaveIf(func() bool { return true }) }

// leaveIf is leave if isLocked returns true, at the same moment. When the client has left, the slot
// may be that of another process, so isLocked is not called then.
func (d *Descriptors) leaveIf(isLocked func() bool) {
	d.mu.Lock()
	leaves := !d.left && isLocked()
	if leaves {
		if d.at != nil {
			d.at.close()
		}
		d.left, d.at = true, nil
		d.closeOutputLocked()
	}
	d.mu.Unlock()
	if !leaves {
		return
	}
	switch {
	case d.in == nil:
	case d.terminal: // hangs up when both of its descriptors are closed
		d.in.close()
	default:
		d.in.finish()
	}
	d.done()
}

// hangUp ends the reading of output for a client that has left. While there is a stream, input
// can still come by it.
func (d *Descriptors) hangUp() {
	d.leaveIf(func() bool {
		if d.at == nil {
			return true
		}
		d.closeOutputLocked()
		return false
	})
}

// closeOutputLocked ends the reading of output, for this and all later daemons.
func (d *Descriptors) closeOutputLocked() {
	d.slot.Leave()
	d.drop(d.keptOutput())
	for _, o := range d.out {
		if o != nil {
			o.close()
		}
	}
}

// Close gives everything up.
func (d *Descriptors) Close() {
	d.leave()
	if d.in != nil {
		d.in.close()
	}
}

// Frames gives the frames of a stream one after the other; each is valid until the next call. At the end the error is
// io.EOF.
type Frames interface {
	Next() (wire.Header, []byte, error)
}

// Read handles what comes in a stream, until its end.
func (d *Descriptors) Read(frames Frames, a *Client) error {
	for {
		h, data, err := frames.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = d.frame(a, h, data)
		}
		if err != nil {
			return err
		}
	}
}

// frame handles one frame of a stream.
func (d *Descriptors) frame(a *Client, h wire.Header, data []byte) error {
	switch h.Type {
	case wire.TypeStdin:
		if d.in != nil {
			return d.in.accept(a, data)
		}
		return nil
	case wire.TypeResize:
		return d.resize(wire.Size(h.Number))
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
