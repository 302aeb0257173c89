package wire_test

import (
	"bytes"
	"errors"
	"io"
	"runtime/metrics"
	"strings"
	"testing"

	"bproc/wire"
)

func header(h wire.Header) []byte {
	b := make([]byte, wire.HeaderSize)
	h.Put(b)
	return b
}

func TestParseHeader(t *testing.T) {
	reserved := header(wire.Header{Type: wire.TypeDone, Length: 1})
	reserved[3] = 1
	for _, tt := range []struct {
		name  string
		bytes []byte
		ok    bool
	}{
		{"data at its bound", header(wire.Header{Type: wire.TypeStdin, Length: wire.MaxData}), true},
		{"data above", header(wire.Header{Type: wire.TypeStdin, Length: wire.MaxData + 1}), false},
		{"end of file", header(wire.Header{Type: wire.TypeStderr}), true},
		{"opening at its bound", header(wire.Header{Type: wire.TypeJoinRequest, Length: wire.MaxOpening}), true},
		{"opening above", header(wire.Header{Type: wire.TypeHello, Length: wire.MaxOpening + 1}), false},
		{"message at its bound", header(wire.Header{Type: wire.TypeSignal, Length: wire.MaxMessage}), true},
		{"message above", header(wire.Header{Type: wire.TypeSignal, Length: wire.MaxMessage + 1}), false},
		{"command at its bound", header(wire.Header{Type: wire.TypeSpawn, Length: wire.MaxCommand}), true},
		{"command above", header(wire.Header{Type: wire.TypeRun, Length: wire.MaxCommand + 1}), false},
		{"longest that can be written", header(wire.Header{Type: wire.TypeRun, Length: 1<<32 - 1}), false},
		{"type 0", header(wire.Header{}), false},
		{"unknown type", header(wire.Header{Type: 65535}), false},
		{"reserved bits", reserved, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := wire.ParseHeader(tt.bytes)
			if tt.ok && err != nil || !tt.ok && !errors.Is(err, wire.ErrFrame) {
				t.Errorf("got %v, want ok %v", err, tt.ok)
			}
		})
	}
}

func TestReaderSequence(t *testing.T) {
	stream := wire.AppendData(nil, wire.TypeStdout, 5, []byte("text"))
	stream, err := wire.Append(stream, 6, &wire.Started{})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 3<<20) // does not fit a buffer that is kept
	stream, err = wire.Append(stream, 7, &wire.GhostExec{PID: 1, Argv: []string{long}})
	if err != nil {
		t.Fatal(err)
	}
	stream = wire.AppendData(stream, wire.TypeStdout, 8, nil)

	r := wire.NewReader(bytes.NewReader(stream))
	next := func(number uint64, text string) {
		t.Helper()
		h, data, err := r.Next()
		if err != nil || h.Number != number || string(data) != text {
			t.Fatalf("got %v %q %v, want number %d, %q", h, data, err, number, text)
		}
	}
	next(5, "text")
	m, number, err := r.Read()
	if _, ok := m.(*wire.Started); !ok || number != 6 || err != nil {
		t.Fatalf("got %v %d %v", m, number, err)
	}
	m, number, err = r.Read()
	if e, ok := m.(*wire.GhostExec); !ok || number != 7 || err != nil || e.Argv[0] != long {
		t.Fatalf("got %T %d %v", m, number, err)
	}
	next(8, "")
	if _, _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Fatalf("got %v, want %v", err, io.EOF)
	}
}

func TestReaderCut(t *testing.T) {
	whole := wire.AppendData(nil, wire.TypeStdout, 5, []byte("text"))
	for n := 1; n < len(whole); n++ {
		_, _, err := wire.NewReader(bytes.NewReader(whole[:n])).Next()
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut to %d bytes: got %v, want %v", n, err, io.ErrUnexpectedEOF)
		}
	}
}

// TestReaderAllocatesWhatArrives: a header that declares much costs little
// until the bytes are there.
func TestReaderAllocatesWhatArrives(t *testing.T) {
	stream := header(wire.Header{Type: wire.TypeRun, Length: wire.MaxCommand})
	got := allocated(func() {
		if _, _, err := wire.NewReader(bytes.NewReader(stream)).Next(); err == nil {
			t.Error("a payload that is not there was read")
		}
	})
	if got > 2*wire.MaxData {
		t.Errorf("got %d bytes allocated, want at most %d", got, 2*wire.MaxData)
	}
}

func TestAppendTooLarge(t *testing.T) {
	before := []byte("before")
	got, err := wire.Append(before, 0, &wire.Token{Token: strings.Repeat("x", wire.MaxMessage)})
	if !errors.Is(err, wire.ErrFrame) || string(got) != "before" {
		t.Errorf("got %d bytes, %v; want the bytes before and %v", len(got), err, wire.ErrFrame)
	}
}

// allocated returns how many bytes f allocates. Small objects are counted some
// kilobytes late; runtime.ReadMemStats would be exact, and too slow for fuzzing.
func allocated(f func()) uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	before := sample[0].Value.Uint64()
	f()
	metrics.Read(sample)
	return sample[0].Value.Uint64() - before
}
