package slave

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

func in(data string) []byte { return wire.AppendData(nil, wire.TypeStdin, 0, []byte(data)) }

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
			p := new(process)
			reading, writing, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer reading.Close()
			if err := p.input(wire.NewReader(bytes.NewReader(test.sent)), writing); !errors.Is(err, test.err) {
				t.Errorf("got %v, want %v", err, test.err)
			}
			if got, err := io.ReadAll(reading); string(got) != test.gets || err != nil {
				t.Errorf("the process reads %q, %v, want %q", got, err, test.gets)
			}
			if err := p.input(wire.NewReader(bytes.NewReader(test.sent)), nil); !errors.Is(err, test.err) {
				t.Errorf("of a process without input: got %v, want %v", err, test.err)
			}
		})
	}
}

// TestInputThatNobodyReads goes on to the end of the stream when the process
// has closed its input.
func TestInputThatNobodyReads(t *testing.T) {
	reading, writing, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	reading.Close()
	sent := bytes.NewReader(slices.Concat(in("a"), in("b")))
	if err := new(process).input(wire.NewReader(sent), writing); err != nil {
		t.Error(err)
	}
	if sent.Len() != 0 {
		t.Errorf("%d bytes are left in the stream", sent.Len())
	}
}

func TestErrnoOf(t *testing.T) {
	for _, test := range []struct {
		err  error
		want unix.Errno
	}{
		{fmt.Errorf("pipe for descriptor 1: %w", unix.EMFILE), unix.EMFILE},
		{&os.PathError{Op: "open", Path: "x", Err: unix.ENOENT}, unix.ENOENT},
		{io.EOF, unix.EIO},
	} {
		if got := errnoOf(test.err); got != test.want {
			t.Errorf("%v: got %v, want %v", test.err, got, test.want)
		}
	}
}
