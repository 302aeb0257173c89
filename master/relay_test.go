package master

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"bproc/wire"
)

// pieces is a reader that returns a sequence of bytes in given pieces.
type pieces struct {
	data []byte
	cuts []int // where pieces end, rising
	at   int
}

func (p *pieces) Read(b []byte) (int, error) {
	for len(p.cuts) > 0 && p.cuts[0] <= p.at {
		p.cuts = p.cuts[1:]
	}
	end := len(p.data)
	if len(p.cuts) > 0 {
		end = min(end, p.cuts[0])
	}
	if p.at == len(p.data) {
		return 0, io.EOF
	}
	n := copy(b, p.data[p.at:end])
	p.at += n
	return n, nil
}

// sequence is a sequence of frames as bytes, with their headers and where they begin.
type sequence struct {
	bytes   []byte
	headers []wire.Header
	starts  []int
}

func (s *sequence) add(t wire.Type, number uint64, data []byte) {
	s.starts = append(s.starts, len(s.bytes))
	s.headers = append(s.headers, wire.Header{Type: t, Number: number, Length: uint32(len(data))})
	s.bytes = wire.AppendData(s.bytes, t, number, data)
}

// through sends the sequence through frames, in pieces. Every byte must come out, and none of a
// frame before the frame was let pass. A frame with an odd number has to wait; by then everything
// before it must be out.
func (s *sequence) through(cuts []int) error {
	var out bytes.Buffer
	passed := 0
	err := frames(&out, &pieces{data: s.bytes, cuts: cuts}, func(h wire.Header) (func() error, error) {
		if passed == len(s.headers) || h != s.headers[passed] {
			return nil, fmt.Errorf("header %d is %+v", passed, h)
		}
		begin := s.starts[passed]
		if out.Len() > begin {
			return nil, fmt.Errorf("%d bytes are out before frame %d, which begins at %d", out.Len(), passed, begin)
		}
		passed++
		if h.Number%2 == 0 {
			return nil, nil
		}
		return func() error {
			if out.Len() != begin {
				return fmt.Errorf("%d bytes are out while a frame waits that begins at %d", out.Len(), begin)
			}
			return nil
		}, nil
	})
	switch {
	case err != nil:
		return err
	case passed != len(s.headers):
		return fmt.Errorf("%d frames passed, want %d", passed, len(s.headers))
	case !bytes.Equal(out.Bytes(), s.bytes):
		return fmt.Errorf("%d bytes came out, not the %d that went in", out.Len(), len(s.bytes))
	}
	return nil
}

// TestFramesInPieces cuts a short sequence at every pair of places.
func TestFramesInPieces(t *testing.T) {
	var s sequence
	s.add(wire.TypeStdout, 1, []byte("hello"))
	s.add(wire.TypeStderr, 2, nil)
	s.add(wire.TypeStdout, 1<<40, bytes.Repeat([]byte("x"), 40))
	s.add(wire.TypeStdout, 3, nil)
	for i := range s.bytes {
		for j := i; j < len(s.bytes); j++ {
			if err := s.through([]int{i, j}); err != nil {
				t.Fatalf("cut at %d and %d: %v", i, j, err)
			}
		}
	}
	every := make([]int, len(s.bytes))
	for i := range every {
		every[i] = i
	}
	if err := s.through(every); err != nil {
		t.Errorf("byte by byte: %v", err)
	}
}

// TestFramesAtRandom sends longer sequences, of small and of large frames, so
// that both buffers and the changes between them are met.
func TestFramesAtRandom(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	data := make([]byte, wire.MaxData)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	for round := range 60 {
		var s sequence
		for range 1 + r.IntN(30) {
			size := r.IntN(40)
			if r.IntN(4) == 0 {
				size = r.IntN(wire.MaxData + 1)
			}
			s.add(wire.TypeStdout+wire.Type(r.IntN(2)), r.Uint64(), data[:size])
		}
		longest := []int{2, 20, 600, largeBuffer}[round%4]
		var cuts []int
		for at := 0; at < len(s.bytes); at += 1 + r.IntN(longest) {
			cuts = append(cuts, at)
			if longest == 2 && at > 4096 {
				break // the rest in large pieces
			}
		}
		if err := s.through(cuts); err != nil {
			t.Fatalf("seed %d, round %d: %v", seed, round, err)
		}
	}
}

func TestFramesRefuses(t *testing.T) {
	header := func(h wire.Header) []byte {
		b := make([]byte, wire.HeaderSize)
		h.Put(b)
		return b
	}
	good := wire.AppendData(nil, wire.TypeStdout, 1, []byte("good"))
	for _, test := range []struct {
		name string
		bad  []byte
	}{
		{"a message", header(wire.Header{Type: wire.TypeKillAll, Length: 1})},
		{"an unknown type", header(wire.Header{Type: 9999})},
		{"too many bytes", header(wire.Header{Type: wire.TypeStdout, Length: wire.MaxData + 1})},
		{"reserved bits", []byte{25, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
		{"standard input", header(wire.Header{Type: wire.TypeStdin})},
	} {
		t.Run(test.name, func(t *testing.T) {
			all := slices.Concat(good, test.bad, good)
			for cut := range len(good) + wire.HeaderSize {
				var out bytes.Buffer
				err := relayOut(t.Context(), &out, &pieces{data: all, cuts: []int{cut}}, moved(1))
				if !errors.Is(err, wire.ErrFrame) {
					t.Errorf("cut at %d: got %v, want %v", cut, err, wire.ErrFrame)
				}
				if out.Len() > len(good) {
					t.Errorf("cut at %d: %d bytes went out, at most %d are good", cut, out.Len(), len(good))
				}
			}
		})
	}
}

// moved returns a barrier that stands at n.
func moved(n uint64) *barrier {
	b := new(barrier)
	b.Move(n)
	return b
}

func TestFramesReportsErrors(t *testing.T) {
	var s sequence
	s.add(wire.TypeStdout, 0, []byte("hello"))
	broken := errors.New("broken")
	pass := func(wire.Header) (func() error, error) { return nil, nil }
	if err := frames(io.Discard, io.MultiReader(bytes.NewReader(s.bytes), iotest.ErrReader(broken)), pass); !errors.Is(err, broken) {
		t.Errorf("of reading: got %v, want %v", err, broken)
	}
	if err := frames(io.Discard, bytes.NewReader(s.bytes), func(wire.Header) (func() error, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("of a header: got %v, want %v", err, broken)
	}
	wait := func(wire.Header) (func() error, error) { return func() error { return broken }, nil }
	if err := frames(io.Discard, bytes.NewReader(s.bytes), wait); !errors.Is(err, broken) {
		t.Errorf("of waiting: got %v, want %v", err, broken)
	}
	near, far := io.Pipe()
	near.CloseWithError(broken)
	if err := frames(far, bytes.NewReader(s.bytes), pass); !errors.Is(err, broken) {
		t.Errorf("of writing: got %v, want %v", err, broken)
	}
}

// TestOutputWaitsForBirths has a process write after three events, of which one has taken effect.
func TestOutputWaitsForBirths(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sequence
		for n := range uint64(4) {
			s.add(wire.TypeStdout, n, []byte{'0' + byte(n)})
		}
		size := len(s.bytes) / 4
		b := moved(1)
		out := make(chan int, 10)
		ended := make(chan error, 1)
		go func() {
			ended <- relayOut(t.Context(), counter(out), bytes.NewReader(s.bytes), b)
		}()
		for _, step := range []struct{ to, frames uint64 }{{1, 2}, {2, 1}, {3, 1}} {
			b.Move(step.to)
			synctest.Wait()
			got := 0
			for len(out) > 0 {
				got += <-out
			}
			if got != int(step.frames)*size {
				t.Errorf("at %d: %d bytes went out, want %d", step.to, got, int(step.frames)*size)
			}
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// counter reports the length of each write.
type counter chan int

func (c counter) Write(b []byte) (int, error) {
	c <- len(b)
	return len(b), nil
}

func TestOutputEndsWithMaster(t *testing.T) {
	cause := errors.New("cause")
	ctx, cancel := context.WithCancelCause(t.Context())
	frame := wire.AppendData(nil, wire.TypeStdout, 1, nil)
	time.AfterFunc(time.Millisecond, func() { cancel(cause) })
	if err := relayOut(ctx, io.Discard, bytes.NewReader(frame), new(barrier)); !errors.Is(err, cause) {
		t.Errorf("got %v, want %v", err, cause)
	}
}
