package journal

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// pipe returns the ends of a pipe, non-blocking.
func pipe(t testing.TB) (read, write int) {
	t.Helper()
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		t.Fatal(err)
	}
	return ends[0], ends[1]
}

// slot returns one of a journal of its own.
func slot(t testing.TB) *Slot {
	t.Helper()
	j, err := Create(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	s, err := j.Take()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// pattern is what a process writes.
func pattern(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// reader reads frames, each until it is taken, and keeps what they hold.
type reader struct {
	t    *testing.T
	o    *Output
	want []byte
	got  []byte
}

// read reads all that has not been taken, and compares it.
func (r *reader) read() {
	r.t.Helper()
	for offset := r.o.Taken(); offset < r.o.Head(); {
		var frame []byte
		n, err := r.o.Frame(wire.TypeStdout, 7, offset, func(b []byte) error { frame = bytes.Clone(b); return nil })
		if err != nil || n == 0 {
			r.t.Fatalf("frame of %d bytes, %v", n, err)
		}
		h, err := wire.ParseHeader(frame)
		if err != nil || h.Type != wire.TypeStdout || int(h.Length) != n || h.Number != 7 {
			r.t.Fatalf("header %+v, %v", h, err)
		}
		if !bytes.Equal(frame[wire.HeaderSize:], r.want[offset:int(offset)+n]) {
			r.t.Fatalf("frame at %d differs", offset)
		}
		if old := len(r.got) - int(offset); old < n {
			r.got = append(r.got, frame[wire.HeaderSize+old:]...)
		}
		offset += uint64(n)
	}
}

// TestOutput has more written than fits into the ring, and taken bit by bit. Frames are
// read twice: what has not been taken must still be there, also where headers were.
func TestOutput(t *testing.T) {
	o := slot(t).Outputs[0]
	from, to := pipe(t)
	defer unix.Close(from)
	want := pattern(3*wire.Window + 12_345)
	r := rand.New(rand.NewPCG(3, 4))
	frames := &reader{t: t, o: o, want: want}
	for rest := want; len(frames.got) < len(want); {
		if len(rest) > 0 {
			n, err := unix.Write(to, rest[:min(len(rest), 1+r.IntN(100_000))])
			if rest = rest[max(n, 0):]; err == nil && len(rest) == 0 {
				unix.Close(to)
			}
		}
		if o.Room() > 0 {
			if _, err := o.Fill(from); err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
		}
		frames.read()
		if o.Head()-o.Taken() > wire.Window/2 {
			if err := o.Take(o.Taken() + uint64(r.IntN(int(o.Head()-o.Taken())+1))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !bytes.Equal(frames.got, want) {
		t.Error("what was read is not what was written")
	}
	if _, err := o.Fill(from); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v, want %v", err, io.EOF)
	}
}

func TestTakeBounds(t *testing.T) {
	o := slot(t).Outputs[1]
	from, to := pipe(t)
	defer unix.Close(from)
	defer unix.Close(to)
	if _, err := unix.Write(to, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Fill(from); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		taken uint64
		ok    bool
	}{{50, true}, {50, true}, {49, false}, {101, false}, {100, true}, {1 << 63, false}} {
		if err := o.Take(c.taken); errors.Is(err, wire.ErrFrame) == c.ok {
			t.Errorf("take %d: %v", c.taken, err)
		}
	}
}
