package master

import (
	"net"
	"sync"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// outlet writes to a client. Once a process writes much, everything that can be on its way fits
// into the connection: otherwise the two ends wake each other up for a quarter of the usual buffer
// at a time (unix_writable of net/unix/af_unix.c).
type outlet struct {
	client  stream
	wide    bool
	reports bool // end may be called

	mu    sync.Mutex // guards the fields below; with reports it is also held during writes
	walk  frameWalk
	late  []byte        // ends of output, which go with the next bytes
	waits chan struct{} // there is something late
	alone bool          // the end of the process will not come: nothing is late
	ended *wire.Ended   // to be written after the present frame
	told  bool          // it has been written
}

func newOutlet(client stream, reports bool) *outlet {
	return &outlet{client: client, reports: reports, waits: make(chan struct{}, 1)}
}

// Write implements [io.Writer]. The end of a process follows the end of its output at once, so the latter waits for
// it, to wake the client once.
func (o *outlet) Write(b []byte) (int, error) {
	if len(b) > smallBuffer && !o.wide {
		o.wide = true
		widen(o.client)
	}
	if !o.reports {
		return o.client.Write(b)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.maybeLateLocked() && areEnds(b) && len(o.late)+len(b) <= maxLate {
		o.late = append(o.late, b...)
		select {
		case o.waits <- struct{}{}:
		default:
		}
		return len(b), nil
	}
	if err := o.writeLateLocked(); err != nil {
		return 0, err
	}
	n, err := o.client.Write(b)
	if err != nil {
		return n, err
	}
	if err := o.walk.over(b); err != nil {
		return n, err
	}
	return n, o.endLocked()
}

// maxLate is the size of the ends of both outputs.
const maxLate = 2 * wire.HeaderSize

// maybeLateLocked reports whether an end of output may be late here.
func (o *outlet) maybeLateLocked() bool {
	return o.betweenFramesLocked() && o.ended == nil && !o.told && !o.alone
}

// areEnds reports whether b is frames that end an output, and nothing else.
func areEnds(b []byte) bool {
	for rest := b; len(rest) > 0; rest = rest[wire.HeaderSize:] {
		if len(rest) < wire.HeaderSize {
			return false
		}
		h, err := wire.ParseHeader(rest[:wire.HeaderSize])
		if err != nil || h.Length > 0 || h.Type != wire.TypeStdout && h.Type != wire.TypeStderr {
			return false
		}
	}
	return len(b) > 0
}

// writeLate writes what is late.
func (o *outlet) writeLate() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.writeLateLocked()
}

// endAlone is writeLate, and from now on nothing is late.
func (o *outlet) endAlone() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.alone = true
	return o.writeLateLocked()
}

func (o *outlet) writeLateLocked() error {
	if len(o.late) == 0 {
		return nil
	}
	_, err := o.client.Write(o.late)
	o.late = nil
	return err
}

func (o *outlet) betweenFramesLocked() bool { return o.walk.left == 0 && o.walk.have == 0 }

// end tells the client how its process has ended, between two frames.
func (o *outlet) end(how *wire.Ended) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = how
	return o.endLocked()
}

func (o *outlet) endLocked() error {
	if o.ended == nil || !o.betweenFramesLocked() {
		return nil
	}
	frames, err := wire.Append(o.late, 0, o.ended)
	o.late, o.ended = nil, nil
	if err == nil {
		_, err = o.client.Write(frames)
	}
	o.told = err == nil
	return err
}

// toldEnd reports whether the client has been told how its process has ended.
func (o *outlet) toldEnd() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.told
}

// widen makes room for the windows of both outputs (socket(7): SO_SNDBUFFORCE is not bound by
// net.core.wmem_max, and needs CAP_NET_ADMIN). If that fails, the buffer stays as it is. A client
// on a node has a stream of its link, which has windows of its own.
func widen(client stream) {
	conn, ok := client.(*net.UnixConn)
	if !ok {
		return
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, 2*wire.Window)
	})
}
