package slave

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"bproc/slave/status"
	"bproc/wire"
	"bproc/wire/link"
)

// viewers serves those who look at the processes of this node.
type viewers struct {
	status *status.Collector
	stamp  func() uint64 // number of the last event so far
	bootID string
	shows  chan struct{} // one for each stream of Show
	reads  chan struct{} // one for each look-up, or refresh, that is under way
}

// Bounds on those who look at the same time.
const (
	maxShows = 32
	maxReads = 64
)

func newViewers(cfg status.Config, stamp func() uint64) *viewers {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		cfg.Log.Warn("times of start are told without a boot id", "err", err)
	}
	return &viewers{
		status: status.New(cfg), stamp: stamp, bootID: strings.TrimSpace(string(boot)),
		shows: make(chan struct{}, maxShows), reads: make(chan struct{}, maxReads),
	}
}

// errManyLooks ends a look beyond the bound.
var errManyLooks = fmt.Errorf("too many look at this node: %w", unix.EAGAIN)

// fetch answers one look-up.
func (v *viewers) fetch(stream link.Stream, reader *wire.Reader, request *wire.Fetch) error {
	give := func(p *wire.Piece) error {
		p.Event = v.stamp()
		return wire.Write(stream, 0, p)
	}
	if !v.start(func() { _ = v.status.Fetch(request, give) }) { // an error is that of the stream
		return give(&wire.Piece{Errno: uint32(unix.EAGAIN), Last: true})
	}
	_, _, err := reader.Read() // the master says no more, and closes the stream in the end
	return err
}

// start runs a read of procfs beside its stream, unless there are too many. Nobody waits
// for it: reading can take as long as somebody holds the memory of a process locked,
// and the session of this node must not. It still counts then, and ends with an error of
// the stream.
func (v *viewers) start(read func()) bool {
	select {
	case v.reads <- struct{}{}:
	default:
		return false
	}
	go func() {
		defer func() { <-v.reads }()
		read()
	}()
	return true
}

// show answers each Refresh of one viewer.
func (v *viewers) show(stream link.Stream, reader *wire.Reader) error {
	select {
	case v.shows <- struct{}{}:
		defer func() { <-v.shows }()
	default:
		return errManyLooks
	}
	view := v.status.View()
	idle := make(chan struct{}, 1) // whoever has its token has the view
	idle <- struct{}{}
	for {
		m, number, err := reader.Read()
		if err != nil {
			return err
		}
		if _, ok := m.(*wire.Refresh); !ok {
			return fmt.Errorf("%w: type %d of a viewer", wire.ErrFrame, m.Type())
		}
		select {
		case <-idle:
		default:
			return fmt.Errorf("%w: a viewer does not wait for the answer", wire.ErrFrame)
		}
		if !v.start(func() { v.refresh(stream, number, view, idle) }) {
			return errManyLooks
		}
	}
}

func (v *viewers) refresh(stream link.Stream, number uint64, view *status.View, idle chan<- struct{}) {
	err := view.Refresh(func(c *wire.Changed) error {
		c.Event = v.stamp()
		return wire.Write(stream, number, c)
	})
	var now unix.Timespec
	if err = errors.Join(err, unix.ClockGettime(unix.CLOCK_BOOTTIME, &now)); err != nil {
		stream.Close() // and so show comes to its end
		return
	}
	idle <- struct{}{} // before the viewer can ask again
	_ = wire.Write(stream, number, &wire.Refreshed{BootID: v.bootID, Uptime: uint64(now.Nano())})
}
