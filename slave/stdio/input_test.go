package stdio

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"bproc/internal/widepipe"
	"bproc/slave/journal"
	"bproc/wire"
)

func in(data string) []byte { return wire.AppendData(nil, wire.TypeStdin, 0, []byte(data)) }

// client is a stream to one, and what it gets.
type client struct {
	mu     sync.Mutex
	cond   sync.Cond
	got    bytes.Buffer
	closed bool
}

func newClient() *client {
	c := new(client)
	c.cond.L = &c.mu
	return c
}

func (c *client) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, io.ErrClosedPipe
	}
	c.cond.Broadcast()
	return c.got.Write(b)
}

func (c *client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.cond.Broadcast()
	return nil
}

// next returns the next frame that the client gets.
func (c *client) next(t *testing.T) (wire.Header, []byte) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.got.Len() < wire.HeaderSize {
		if c.closed {
			t.Fatal("the stream has ended")
		}
		c.cond.Wait()
	}
	h, data, err := wire.NewReader(&c.got).Next()
	if err != nil {
		t.Fatal(err)
	}
	return h, slices.Clone(data)
}

// ways are the descriptors of processes without a node.
func ways(t *testing.T) *Table {
	t.Helper()
	j, err := journal.Create(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &Table{
		Journal: j, Stamp: func() uint64 { return 77 },
		Keep: func(string, ...*os.File) error { return nil }, Drop: func(string) {},
	}
	t.Cleanup(func() {
		s.Close()
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// process enters the descriptors of one that runs, all of them streams.
func enter(t *testing.T, s *Table, pid wire.PID, launch uint64) *Descriptors {
	t.Helper()
	return enterWith(t, s, pid, launch, [3]wire.DescriptorMode{wire.DescriptorStream, wire.DescriptorStream, wire.DescriptorStream})
}

func enterWith(t *testing.T, s *Table, pid wire.PID, launch uint64, modes [3]wire.DescriptorMode) *Descriptors {
	t.Helper()
	spawn := streams(modes)
	spawn.PID, spawn.Launch, spawn.UID = pid, launch, 1000
	d, err := s.Make(spawn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.pipes.closeFar)
	if former := s.Enter(d); former != nil {
		former.Close()
	}
	return d
}

func attach(t *testing.T, d *Descriptors, from [2]uint64) *Client {
	t.Helper()
	a := &Client{stream: newClient()}
	if err := d.Attach(a, from, func(uint64) error { return nil }); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestInput(t *testing.T) {
	out := wire.AppendData(nil, wire.TypeStdout, 0, nil)
	for _, test := range []struct {
		name string
		sent []byte
		gets string
		err  error
	}{
		{"nothing", nil, "", nil},
		{"some", slices.Concat(in("a"), in("bc")), "abc", nil},
		{"end of file", slices.Concat(in("a"), in(""), in("late"), in("")), "a", nil},
		{"output", slices.Concat(in("a"), out), "a", wire.ErrFrame},
		{"a cut frame", slices.Concat(in("a"), in("bc")[:17]), "a", io.ErrUnexpectedEOF},
		{"a cut header", slices.Concat(in("a"), in("bc")[:3]), "a", io.ErrUnexpectedEOF},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := enter(t, ways(t), 4711, 1)
			a := attach(t, d, [2]uint64{})
			d.Run()
			if err := d.Read(wire.NewReader(bytes.NewReader(test.sent)), a); !errors.Is(err, test.err) {
				t.Errorf("got %v, want %v", err, test.err)
			}
			d.Closed(a)
			if got, err := io.ReadAll(d.pipes.end[0]); string(got) != test.gets || err != nil {
				t.Errorf("the process reads %q, %v, want %q", got, err, test.gets)
			}
			if err := new(Descriptors).Read(wire.NewReader(bytes.NewReader(test.sent)), a); !errors.Is(err, test.err) {
				t.Errorf("of a process without input: got %v, want %v", err, test.err)
			}
		})
	}
}

// TestInputWaits has more sent than a process reads, up to the bound, and all of it read
// then; the client is told what it need not keep, and of the end.
func TestInputWaits(t *testing.T) {
	d := enter(t, ways(t), 4711, 1)
	a := attach(t, d, [2]uint64{})
	d.Run()
	chunk := bytes.Repeat([]byte("0123456789abcdef"), wire.MaxData/16)
	sent, err := 0, error(nil)
	for ; err == nil; sent += len(chunk) {
		err = d.in.accept(a, chunk)
	}
	sent -= len(chunk)
	if !errors.Is(err, wire.ErrFrame) || sent < wire.Window || sent > wire.Window+widepipe.Size+3*wire.MaxData {
		t.Fatalf("%v after %d bytes", err, sent)
	}
	if err := d.in.accept(a, nil); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(d.pipes.end[0]); len(got) != sent || err != nil {
		t.Errorf("the process reads %d bytes, %v, want %d", len(got), err, sent)
	}
	told := uint64(0)
	for told != math.MaxUint64 {
		h, _ := a.stream.(*client).next(t)
		if h.Type != wire.TypeStdinTaken || h.Number <= told {
			t.Fatalf("told %+v after %d", h, told)
		}
		told = h.Number
	}
}

// TestInputComesAgain has a stream end with what the process has not read. The client
// sends it again, and the process gets each byte once.
func TestInputComesAgain(t *testing.T) {
	d := enter(t, ways(t), 4711, 1)
	a := attach(t, d, [2]uint64{})
	d.Run()
	all := bytes.Repeat([]byte("0123456789abcde\n"), 5*wire.MaxData/16)
	for part := range slices.Chunk(all, 10_000) {
		if err := d.in.accept(a, part); err != nil {
			t.Fatal(err)
		}
	}
	d.Lost(a)
	var taken uint64
	b := &Client{stream: newClient()}
	if err := d.Attach(b, [2]uint64{}, func(n uint64) error { taken = n; return nil }); err != nil {
		t.Fatal(err)
	}
	if taken >= uint64(len(all)) {
		t.Fatalf("%d bytes are taken that nobody has read", taken)
	}
	for part := range slices.Chunk(all[taken:], 10_000) {
		if err := d.in.accept(b, part); err != nil {
			t.Fatal(err)
		}
	}
	d.Closed(b)
	if got, err := io.ReadAll(d.pipes.end[0]); !bytes.Equal(got, all) || err != nil {
		t.Errorf("the process reads %d bytes, %v, want %d, the same", len(got), err, len(all))
	}
}

// TestInputNobodyReads has a process close its input.
func TestInputNobodyReads(t *testing.T) {
	d := enter(t, ways(t), 4711, 1)
	a := attach(t, d, [2]uint64{})
	d.Run()
	d.pipes.end[0].Close()
	if err := d.in.accept(a, []byte("lost")); err != nil {
		t.Fatal(err)
	}
	if h, _ := a.stream.(*client).next(t); h.Type != wire.TypeStdinTaken || h.Number != math.MaxUint64 {
		t.Errorf("told %+v, want that all is taken", h)
	}
}

// TestClientThatHasNoAnswer has a client lost before it hears that it is attached, and gone then: the process sees the end
// of its input.
func TestClientThatHasNoAnswer(t *testing.T) {
	d := enter(t, ways(t), 4711, 1)
	attach(t, d, [2]uint64{})
	d.Run()
	again := &Client{stream: newClient()}
	if err := d.Attach(again, [2]uint64{}, func(uint64) error { return io.ErrClosedPipe }); !errors.Is(err, io.ErrClosedPipe) {
		t.Fatalf("got %v", err)
	}
	d.hangUp()
	if got, err := io.ReadAll(d.pipes.end[0]); len(got) > 0 || err != nil {
		t.Errorf("the process reads %q, %v", got, err)
	}
}

// TestAnswerFirst has a process close its input while a client goes on with it: the client is told after it has got its
// answer.
func TestAnswerFirst(t *testing.T) {
	d := enter(t, ways(t), 4711, 1)
	d.Run()
	before := attach(t, d, [2]uint64{})
	for range wire.Window / wire.MaxData { // more than the pipe has room for
		if err := d.in.accept(before, make([]byte, wire.MaxData)); err != nil {
			t.Fatal(err)
		}
	}
	c := newClient()
	a := NewClient(c)
	err := d.Attach(a, [2]uint64{}, func(uint64) error {
		d.pipes.end[0].Close()
		for closed := false; !closed; time.Sleep(time.Millisecond) {
			d.in.mu.Lock()
			closed = d.in.closed
			d.in.mu.Unlock()
		}
		time.Sleep(20 * time.Millisecond) // in which it would be told
		return a.Write(wire.AppendData(nil, wire.TypeStdout, 0, []byte("answer")))
	})
	if err != nil {
		t.Fatal(err)
	}
	if h, data := c.next(t); string(data) != "answer" {
		t.Errorf("before the answer came %+v", h)
	}
	if h, _ := c.next(t); h.Type != wire.TypeStdinTaken || h.Number != math.MaxUint64 {
		t.Errorf("after the answer came %+v, want that all is taken", h)
	}
}

// TestInputInSmallFrames has a client send one byte at a time to a process that reads nothing: the window bounds what
// waits, and not only its bytes.
func TestInputInSmallFrames(t *testing.T) {
	d := enter(t, ways(t), 4711, 1)
	a := attach(t, d, [2]uint64{})
	d.Run()
	var want []byte
	send := func(data []byte) error {
		err := d.in.accept(a, data)
		if err == nil {
			want = append(want, data...)
		}
		return err
	}
	for range 4 { // more than the pipe has room for
		if err := send(bytes.Repeat([]byte("0123456789abcdef"), wire.MaxData/16)); err != nil {
			t.Fatal(err)
		}
	}
	err := error(nil)
	for n := 0; err == nil; n++ {
		err = send([]byte{byte(n)})
	}
	if !errors.Is(err, wire.ErrFrame) {
		t.Fatal(err)
	}
	d.in.mu.Lock()
	if n, most := len(d.in.queue), 2*wire.Window/wire.MaxData; n > most {
		t.Errorf("%d pieces wait, want at most %d", n, most)
	}
	for _, piece := range d.in.queue {
		if len(piece) > wire.MaxData {
			t.Errorf("a piece of %d bytes waits", len(piece))
		}
	}
	d.in.mu.Unlock()
	d.Closed(a)
	if got, err := io.ReadAll(d.pipes.end[0]); !bytes.Equal(got, want) || err != nil {
		t.Errorf("the process reads %d bytes, %v, want %d, the same", len(got), err, len(want))
	}
}
