package stream_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"bproc/internal/copy/stream"
)

// entries are entries of all kinds.
var entries = []stream.Entry{
	{Name: "d", Kind: stream.Directory, Mode: 0o1755, Xattrs: []stream.Xattr{{Name: "user.a", Value: []byte{0, 255}}, {Name: "user.none", Value: []byte{}}}},
	{Name: "f", Kind: stream.File, Mode: 0o4755, UID: 1, GID: 2, Size: 1 << 40, Link: 7, Dev: 3, Ino: 4, Mtime: time.Unix(-5, 999999999), Atime: time.Unix(1<<33, 1)},
	{Name: "s", Kind: stream.Symlink, Mode: 0o777, Target: "../../etc/passwd"},
	{Name: "l", Kind: stream.HardLink, Link: 7},
	{Name: "a b\n\xff", Kind: stream.CharDevice, Device: 0x103},
	{Name: "p", Kind: stream.FIFO},
}

// written returns a stream with all kinds of records. The longest has a given number of data bytes.
func written(t testing.TB, longest int) []byte {
	t.Helper()
	var b bytes.Buffer
	w := stream.NewWriter(&b)
	for i := range entries {
		if err := w.Entry(&entries[i]); err != nil {
			t.Fatal(err)
		}
		if entries[i].Kind == stream.File {
			for _, err := range []error{w.Data(5, []byte("five")), w.Data(1<<40, bytes.Repeat([]byte("x"), longest)), w.Close(1<<41, true)} {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for _, err := range []error{w.Leave(), w.End()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// records reads a stream, and copies its data.
func records(from io.Reader) (list []stream.Record, err error) {
	r := stream.NewReader(from)
	for {
		record, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return list, err
		}
		if d, ok := record.(stream.Data); ok {
			record = stream.Data{Offset: d.Offset, Bytes: bytes.Clone(d.Bytes)}
		}
		list = append(list, record)
	}
}

func TestStream(t *testing.T) {
	got, err := records(bytes.NewReader(written(t, stream.MaxData)))
	if err != nil {
		t.Fatal(err)
	}
	want := []stream.Record{
		&entries[0], &entries[1],
		stream.Data{Offset: 5, Bytes: []byte("five")},
		stream.Data{Offset: 1 << 40, Bytes: bytes.Repeat([]byte("x"), stream.MaxData)},
		stream.Close{Size: 1 << 41, OK: true},
		&entries[2], &entries[3], &entries[4], &entries[5],
		stream.Leave{},
		stream.End{},
	}
	if len(got) != len(want) {
		t.Fatalf("got %d records, want %d", len(got), len(want))
	}
	for i := range want {
		g, isEntry := got[i].(*stream.Entry)
		if !isEntry {
			if !reflect.DeepEqual(got[i], want[i]) {
				t.Errorf("record %d: got %T, want %T", i, got[i], want[i])
			}
			continue
		}
		w := *want[i].(*stream.Entry)
		if !g.Mtime.Equal(w.Mtime) && !w.Mtime.IsZero() || !g.Atime.Equal(w.Atime) && !w.Atime.IsZero() {
			t.Errorf("%s: got %v and %v, want %v and %v", w.Name, g.Mtime, g.Atime, w.Mtime, w.Atime)
		}
		w.Mtime, w.Atime = g.Mtime, g.Atime
		if !reflect.DeepEqual(*g, w) {
			t.Errorf("got %+v, want %+v", *g, w)
		}
	}
}

// TestBrokenOff checks that a stream that ends early is never taken as complete.
func TestBrokenOff(t *testing.T) {
	whole := written(t, 100)
	for n := range len(whole) {
		if _, err := records(bytes.NewReader(whole[:n])); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("%d of %d bytes: got %v, want %v", n, len(whole), err, io.ErrUnexpectedEOF)
		}
	}
}

// TestHostileEntries checks that names that lead elsewhere are neither written nor read.
func TestHostileEntries(t *testing.T) {
	long := strings.Repeat("x", 256)
	for _, e := range []stream.Entry{
		{Name: "", Kind: stream.File},
		{Name: "..", Kind: stream.Directory},
		{Name: "/etc", Kind: stream.Directory},
		{Name: "a/b", Kind: stream.File},
		{Name: "a\x00b", Kind: stream.File},
		{Name: long, Kind: stream.File},
		{Name: ".", Kind: stream.File},
		{Name: ".", Kind: stream.Symlink, Target: "/"},
		{Name: "s", Kind: stream.Symlink},
		{Name: "f", Kind: stream.File, Target: "x"},
		{Name: "f", Kind: stream.File, Size: -1},
		{Name: "l", Kind: stream.HardLink},
		{Name: "f", Kind: stream.File, Mode: 0o100644},
		{Name: "f", Kind: 99},
		{Name: "f"},
		{Name: "s", Kind: stream.Symlink, Target: "a\x00b"},
		{Name: "s", Kind: stream.Symlink, Target: strings.Repeat("x", 5000)},
		{Name: "f", Kind: stream.File, Xattrs: []stream.Xattr{{Name: ""}}},
	} {
		var b bytes.Buffer
		err := stream.NewWriter(&b).Entry(&e)
		if err == nil {
			_, err = records(&b)
		}
		if !errors.Is(err, stream.ErrStream) {
			t.Errorf("%+v: got %v, want %v", e, err, stream.ErrStream)
		}
	}
}

// TestOrder checks that records in a wrong order are rejected.
func TestOrder(t *testing.T) {
	file := &stream.Entry{Name: "f", Kind: stream.File}
	dir := &stream.Entry{Name: "d", Kind: stream.Directory}
	for name, write := range map[string]func(w *stream.Writer){
		"data of nothing":    func(w *stream.Writer) { _ = w.Data(0, []byte("x")) },
		"close of nothing":   func(w *stream.Writer) { _ = w.Close(0, true) },
		"leave of nothing":   func(w *stream.Writer) { _ = w.Leave() },
		"entry in a file":    func(w *stream.Writer) { _ = w.Entry(file); _ = w.Entry(file) },
		"end in a file":      func(w *stream.Writer) { _ = w.Entry(file); _ = w.End() },
		"end in a directory": func(w *stream.Writer) { _ = w.Entry(dir); _ = w.End() },
		"here in a directory": func(w *stream.Writer) {
			_ = w.Entry(dir)
			_ = w.Entry(&stream.Entry{Name: ".", Kind: stream.Directory})
		},
		"data backwards":       func(w *stream.Writer) { _ = w.Entry(file); _ = w.Data(5, []byte("x")); _ = w.Data(5, []byte("x")) },
		"data at minus one":    func(w *stream.Writer) { _ = w.Entry(file); _ = w.Data(-1, []byte("x")) },
		"data at the very end": func(w *stream.Writer) { _ = w.Entry(file); _ = w.Data(1<<63-1, []byte("x")) },
		"smaller than data":    func(w *stream.Writer) { _ = w.Entry(file); _ = w.Data(0, []byte("xyz")); _ = w.Close(2, true) },
	} {
		var b bytes.Buffer
		write(stream.NewWriter(&b))
		if _, err := records(&b); !errors.Is(err, stream.ErrStream) {
			t.Errorf("%s: got %v, want %v", name, err, stream.ErrStream)
		}
	}
}

// TestLengths checks that announced lengths alone allocate nothing.
func TestLengths(t *testing.T) {
	begin := written(t, 1)[:5]
	for kind := range byte(7) {
		b := append(bytes.Clone(begin), kind)
		b = binary.LittleEndian.AppendUint32(b, 0xffffffff)
		if _, err := records(bytes.NewReader(b)); !errors.Is(err, stream.ErrStream) {
			t.Errorf("type %d: got %v, want %v", kind, err, stream.ErrStream)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add(written(f, 10))
	f.Add(written(f, 10)[:400])
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := records(bytes.NewReader(b))
		depth := 0
		for _, r := range list {
			switch r := r.(type) {
			case *stream.Entry:
				if r.Name == ".." || strings.Contains(r.Name, "/") || r.Name == "" || r.Name == "." && depth > 0 {
					t.Fatalf("the name %q", r.Name)
				}
				if r.Kind == stream.Directory {
					depth++
				}
			case stream.Leave:
				if depth--; depth < 0 {
					t.Fatal("more was left than entered")
				}
			}
		}
		if err == nil && depth != 0 {
			t.Fatal("the end is in a directory")
		}
	})
}
