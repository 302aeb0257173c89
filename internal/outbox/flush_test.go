package outbox

import (
	"bytes"
	"errors"
	"testing"

	"bproc/wire"
)

// narrow is a connection that takes a number of bytes without waiting, and others when it is told to.
type narrow struct {
	room int
	got  []byte
	err  error
	may  chan struct{}
}

func (n *narrow) TryWrite(b []byte) int {
	b = b[:min(len(b), n.room)]
	n.room -= len(b)
	n.got = append(n.got, b...)
	return len(b)
}

func (n *narrow) Write(b []byte) (int, error) {
	<-n.may
	if n.err != nil {
		return 0, n.err
	}
	n.got = append(n.got, b...)
	return len(b), nil
}

// numbers returns the numbers of frames.
func numbers(t *testing.T, frames []byte) (all []uint64) {
	t.Helper()
	for r := wire.NewReader(bytes.NewReader(frames)); ; {
		_, number, err := r.Read()
		if err != nil {
			return all
		}
		all = append(all, number)
	}
}

// TestFlush checks that Flush writes, and Run what Flush could not; that their frames are in order;
// and that Close returns those that were not written whole.
func TestFlush(t *testing.T) {
	o := opened(nil)
	put(t, o, 1)
	size := len(o.buf)
	n := &narrow{room: 3 * size, may: make(chan struct{})}
	done := make(chan struct{})
	close(done)
	run := func() error { return o.Run(done, n, n.TryWrite) }
	go func() { n.may <- struct{}{} }()
	if err := run(); err != nil { // it writes the first frame
		t.Fatal(err)
	}
	put(t, o, 2)
	if len(n.got) != size {
		t.Errorf("%d bytes were written before Flush, want %d", len(n.got), size)
	}
	o.Flush()
	if len(n.got) != 2*size || !o.Idle() {
		t.Errorf("%d bytes were written by Flush, want %d", len(n.got)-size, size)
	}
	n.room = size + size/2
	for i := range uint64(3) {
		put(t, o, 3+i)
	}
	o.Flush() // one and a half
	put(t, o, 6)
	o.Flush()
	if len(n.got) != 3*size+size/2 || o.Idle() {
		t.Errorf("%d bytes are written, want %d", len(n.got), 3*size+size/2)
	}
	go func() { n.may <- struct{}{} }()
	if err := run(); err != nil {
		t.Fatal(err)
	}
	if got := numbers(t, n.got); len(got) != 6 || got[0] != 1 || got[5] != 6 || !o.Idle() {
		t.Errorf("frames %d were written, want 1 to 6", got)
	}
	n.room, n.err = size/2, errors.New("broken")
	put(t, o, 7)
	put(t, o, 8)
	o.Flush() // half of the first
	close(n.may)
	if err := run(); !errors.Is(err, n.err) || !o.Idle() {
		t.Errorf("got %v, want %v", err, n.err)
	}
	if err := o.Put(9, new(wire.KillAll)); !errors.Is(err, n.err) {
		t.Errorf("put: got %v, want %v", err, n.err)
	}
	if rest := numbers(t, o.Close()); len(rest) != 2 || rest[0] != 7 || rest[1] != 8 {
		t.Errorf("frames %d were not written whole, want 7 and 8", rest)
	}
	if rest := o.Close(); len(rest) != 0 {
		t.Errorf("%d bytes are left after Close", len(rest))
	}
}
