package stdio

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"bproc/wire"
)

// FuzzClient has the client of a process say anything among its input: once, and again over
// another stream that goes on from anywhere. The process writes meanwhile, and reads what
// was input, in order. Nobody waits for ever, and another process is not disturbed.
func FuzzClient(f *testing.F) {
	taken := func(typ wire.Type, offset uint64) []byte { return wire.AppendData(nil, typ, offset, nil) }
	for _, says := range [][]byte{
		nil, in("input"), in(""), append(in("a"), in("")...), append(in("a"), taken(wire.TypeStdoutTaken, 4)...),
		append(taken(wire.TypeStderrTaken, 1<<63), in("b")...), taken(wire.TypeStdinTaken, 1), taken(wire.TypeStdout, 0),
		{1, 2, 3},
	} {
		f.Add(says, says, uint64(0), uint64(0))
		f.Add(says, says, uint64(4), uint64(1<<63))
	}
	f.Fuzz(func(t *testing.T, first, second []byte, stdout, stderr uint64) {
		s := ways(t)
		d, other := enter(t, s, 4711, 1), enter(t, s, 4712, 2)
		d.Run()
		other.Run()
		reads := make(chan string)
		go func() {
			all, _ := io.ReadAll(d.pipes.end[0]) // to the end of the input
			reads <- string(all)
		}()
		for _, fd := range []int{1, 2} {
			if _, err := d.pipes.end[fd].WriteString("text"); err != nil {
				t.Fatal(err)
			}
		}
		a := attach(t, d, [2]uint64{})
		hear(t, d, a, first)
		d.Lost(a)
		again := &Client{stream: newClient()}
		switch err := d.Attach(again, [2]uint64{stdout, stderr}, func(uint64) error { return nil }); {
		case err == nil:
			hear(t, d, again, second)
			d.Closed(again)
		case errors.Is(err, wire.ErrFrame):
			d.leave()
		default:
			t.Errorf("attach after %d and %d bytes: %v", stdout, stderr, err)
		}
		d.hangUp()
		for _, fd := range []int{1, 2} {
			d.pipes.end[fd].Close()
		}
		if got := <-reads; !isInput(got, inputOf(first), inputOf(second)) {
			t.Errorf("the process reads %q, the client has said %q, then %q", got, inputOf(first), inputOf(second))
		}
		undisturbed(t, other)
	})
}

// hear has a client say something.
func hear(t *testing.T, d *Descriptors, a *Client, says []byte) {
	t.Helper()
	err := d.Read(wire.NewReader(bytes.NewReader(says)), a)
	if err != nil && !errors.Is(err, wire.ErrFrame) && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("it says %x: %v", says, err)
	}
}

// inputOf returns the input in what a client says, to its end.
func inputOf(says []byte) (input string) {
	for reader := wire.NewReader(bytes.NewReader(says)); ; {
		h, data, err := reader.Next()
		if err != nil || h.Type == wire.TypeStdin && len(data) == 0 {
			return input
		}
		if h.Type == wire.TypeStdin {
			input += string(data)
		}
	}
}

// isInput reports whether a process may read this: what was said on one stream, up to an
// error or the end, and after that the same of the other.
func isInput(got, first, second string) bool {
	for i := 0; i <= min(len(got), len(first)) && got[:i] == first[:i]; i++ {
		if strings.HasPrefix(second, got[i:]) {
			return true
		}
	}
	return false
}

// undisturbed checks that the input of a process is passed on.
func undisturbed(t *testing.T, d *Descriptors) {
	t.Helper()
	a := attach(t, d, [2]uint64{})
	if err := d.Read(wire.NewReader(bytes.NewReader(in("works"))), a); err != nil {
		t.Error(err)
	}
	d.Closed(a)
	if got, err := io.ReadAll(d.pipes.end[0]); string(got) != "works" || err != nil {
		t.Errorf("another process reads %q, %v", got, err)
	}
}
