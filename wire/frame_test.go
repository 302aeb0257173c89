package wire_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
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

// TestListsOfLargeClusters lists the greatest number of nodes, with 100 processes on each.
func TestListsOfLargeClusters(t *testing.T) {
	const nodes, each = 4096, 100
	procs, table := new(wire.ProcList), new(wire.NodeList)
	for id := range wire.NodeID(nodes) {
		table.Nodes = append(table.Nodes, wire.Node{
			ID: id, Name: "node.of.a.rather.long.name", State: "up", Addr: "[2001:db8:1:2:3:4:5:6]:65535", Labels: []string{"gpu", "rack=1234"},
			Boot: "01234567-89ab-cdef-0123-456789abcdef", Kernel: "6.1.0-25-amd64", Arch: "x86_64", Since: 1 << 32, Reason: strings.Repeat("x", 200),
		})
		for i := range wire.PID(each) {
			procs.Procs = append(procs.Procs, wire.Proc{PID: 1<<20 + wire.PID(id)*each + i, Node: id})
		}
	}
	for _, m := range []wire.Message{procs, table} {
		b, err := wire.Append(nil, 0, m)
		if err != nil {
			t.Error(err)
			continue
		}
		if got, _, err := wire.NewReader(bytes.NewReader(b)).Read(); err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("type %d: got %v", m.Type(), err)
		}
	}
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
		{"list at its bound", header(wire.Header{Type: wire.TypeProcList, Length: wire.MaxCommand}), true},
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

// TestReaderAllocatesWhatArrives checks that a header that declares a large payload costs little
// until the bytes arrive.
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

// allocated returns how many bytes f allocates. Small objects are counted some kilobytes late;
// runtime.ReadMemStats would be exact, but too slow for fuzzing.
func allocated(f func()) uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	before := sample[0].Value.Uint64()
	f()
	metrics.Read(sample)
	return sample[0].Value.Uint64() - before
}
