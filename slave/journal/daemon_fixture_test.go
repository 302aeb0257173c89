package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/test/limit"
	"bproc/wire"
)

// killedEnv has this program be a daemon.
const killedEnv = "BPROC_TEST_JOURNAL_DAEMON"

func TestMain(m *testing.M) {
	if os.Getenv(killedEnv) == "" {
		limit.Tests(m)
		return
	}
	if err := carry(); err != nil && !errors.Is(err, io.EOF) {
		fmt.Fprintln(os.Stderr, "daemon:", err)
		unix.Exit(1)
	}
}

// carry is a daemon with one process, whose descriptors are 3 and up: the client, the
// journal, the movers, and the pipes of the process.
func carry() error {
	var kept []*os.File
	for fd := uintptr(4); fd <= 10; fd++ {
		kept = append(kept, os.NewFile(fd, "kept"))
	}
	j, used, err := Reopen(map[string][]*os.File{Name: kept[:1], movesPrefix + "0": kept[1:]}, nil)
	if err != nil {
		return err
	}
	if len(used) != 1 {
		return fmt.Errorf("%d slots are in use", len(used))
	}
	defer j.Close()
	d := &carrier{slot: used[0], out: 11, in: 12, client: os.NewFile(3, "client")}
	return d.run()
}

type carrier struct {
	slot   *Slot
	out    int
	in     int
	client *os.File
	sent   uint64
	queue  []byte
	eof    bool // of the input
	ended  bool // the output
	told   bool
}

func (d *carrier) run() error {
	frames := wire.NewReader(d.client)
	m, _, err := frames.Read()
	if err != nil {
		return err
	}
	d.sent = m.(*wire.Resume).Output[0]
	o, in := d.slot.Outputs[0], d.slot.Input
	if d.sent < o.Taken() || d.sent > o.Head() {
		return fmt.Errorf("the client has %d bytes, the journal %d to %d", d.sent, o.Taken(), o.Head())
	}
	if err := o.Take(d.sent); err != nil {
		return err
	}
	if err := wire.Write(d.client, 0, &wire.Resumed{Taken: in.Taken()}); err != nil {
		return err
	}
	for !d.ended || !in.Ended() {
		ready := []unix.PollFd{{Fd: 3, Events: unix.POLLIN}, {Fd: -1, Events: unix.POLLIN}, {Fd: -1, Events: unix.POLLOUT}}
		if o.Room() > 0 && !d.ended {
			ready[1].Fd = int32(d.out)
		}
		if in.Held() > 0 {
			ready[2].Fd = int32(d.in)
		}
		if _, err := unix.Poll(ready, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		if ready[0].Revents != 0 {
			if err := d.frame(frames); err != nil {
				return err
			}
		}
		if err := d.carryOn(ready[1].Revents != 0); err != nil {
			return err
		}
	}
	return nil
}

// frame takes one from the client.
func (d *carrier) frame(frames *wire.Reader) error {
	h, data, err := frames.Next()
	switch {
	case err != nil:
		return err
	case h.Type == wire.TypeStdoutTaken:
		return d.slot.Outputs[0].Take(h.Number)
	case len(data) == 0:
		d.eof = true
	default:
		d.queue = append(d.queue, data...)
	}
	return nil
}

// carryOn carries what there is.
func (d *carrier) carryOn(output bool) error {
	if err := d.carryOut(output); err != nil {
		return err
	}
	return d.carryIn()
}

// carryOut carries from the process to the client.
func (d *carrier) carryOut(ready bool) error {
	o := d.slot.Outputs[0]
	if ready {
		if _, err := o.Fill(d.out); errors.Is(err, io.EOF) {
			d.ended = true
		} else if err != nil && !errors.Is(err, unix.EAGAIN) {
			return err
		}
	}
	for d.sent < o.Head() {
		n, err := o.Frame(wire.TypeStdout, 0, d.sent, func(b []byte) error { _, err := d.client.Write(b); return err })
		if err != nil {
			return err
		}
		d.sent += uint64(n)
	}
	if d.told || !d.ended {
		return nil
	}
	d.told = true
	_, err := d.client.Write(wire.AppendData(nil, wire.TypeStdout, 0, nil))
	return err
}

// carryIn carries from the client to the process.
func (d *carrier) carryIn() error {
	in := d.slot.Input
	for moved := true; moved; {
		if err := in.Move(d.in); err != nil && !errors.Is(err, unix.EAGAIN) {
			return err
		}
		n, err := in.Put(d.queue[:min(len(d.queue), wire.MaxData)])
		if err != nil {
			return err
		}
		d.queue, moved = d.queue[n:], n > 0
		if moved {
			if _, err := d.client.Write(wire.AppendData(nil, wire.TypeStdinTaken, in.Taken(), nil)); err != nil {
				return err
			}
		}
	}
	if d.eof && len(d.queue) == 0 && in.Held() == 0 && !in.Ended() {
		in.End()
		return unix.Close(d.in)
	}
	return nil
}
