package hardware

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// Time limits: for a call of Read, and for how long a reading is fresh.
const (
	readTime  = 20 * time.Second
	freshTime = 10 * time.Second
)

// Reader reads what the machine is, and keeps the result. [NewReader] makes one.
type Reader struct {
	turn chan struct{} // one token, held while reading, and with it the following
	last *wire.Hardware
	at   time.Time
	read func(context.Context) (*wire.Hardware, error)
}

// NewReader returns a reader that has read nothing yet.
func NewReader() *Reader { return &Reader{turn: make(chan struct{}, 1), read: ask} }

// Read returns what the machine is. If fresh is true it reads again, unless that was just done. It
// does not wait for a child that cannot be killed, since it waits for a device; as long as there is
// one, nothing else is read.
func (r *Reader) Read(ctx context.Context, fresh bool) (*wire.Hardware, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, readTime, errSlow)
	defer cancel()
	select {
	case r.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	type result struct {
		h   *wire.Hardware
		err error
	}
	done := make(chan result, 1)
	go func() {
		h, err := r.readLocked(ctx, fresh)
		<-r.turn
		done <- result{h, err}
	}()
	select {
	case is := <-done:
		return is.h, is.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

var errSlow = errors.New("it takes too long")

func (r *Reader) readLocked(ctx context.Context, fresh bool) (*wire.Hardware, error) {
	if r.last != nil && (!fresh || time.Since(r.at) < freshTime) {
		return r.last, nil
	}
	h, err := r.read(ctx)
	if err != nil {
		return nil, fmt.Errorf("read what this machine is: %w", err)
	}
	r.last, r.at = h, time.Now()
	return h, nil
}

// childName is argument 0 of the child.
const childName = "bproc-hardware"

// Reexec must be called at the start of a program with this package. In the child of [Reader] it
// does not return.
func Reexec() {
	if os.Args[0] != childName {
		return
	}
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, 19) // reading is not urgent
	h := read()
	h.Trim()
	code := 0
	if err := wire.Write(os.Stdout, 0, h); err != nil {
		code = 1
	}
	os.Exit(code) //nolint:forbidigo // this is the child's main
}

// ask reads in a child.
func ask(ctx context.Context) (*wire.Hardware, error) {
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Args = []string{childName}
	cmd.Env = []string{"PATH=/nonexistent", "GHW_DISABLE_TOOLS=1", "GHW_DISABLE_WARNINGS=1"} // no other program is run
	cmd.Dir = "/"
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout = &limited{w: &out, room: wire.MaxMessage}
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	m, _, err := wire.NewReader(&out).Read()
	if err != nil {
		return nil, err
	}
	h, ok := m.(*wire.Hardware)
	if !ok {
		return nil, fmt.Errorf("%w: type %d", wire.ErrFrame, m.Type())
	}
	return h, nil
}

// limited writes up to room bytes, and fails then.
type limited struct {
	w    io.Writer
	room int
}

func (l *limited) Write(p []byte) (int, error) {
	if l.room -= len(p); l.room < 0 {
		return 0, io.ErrShortWrite
	}
	return l.w.Write(p)
}
