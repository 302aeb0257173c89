package bpsh

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSpoolFull keeps output where there is room for a part of it only, and passes it on when
// there is room again.
func TestSpoolFull(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	limited := was
	limited.Cur = spoolMemory + spoolMemory/2
	var out, bad bytes.Buffer
	s := &spool{out: [2]io.Writer{&out, &bad}}
	piece := bytes.Repeat([]byte{0xff}, spoolMemory/4)

	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limited); err != nil {
		t.Fatal(err)
	}
	pieces, err := 0, error(nil)
	for ; err == nil && pieces < 100; pieces++ {
		_, err = s.stream(0).Write(piece)
	}
	if e := unix.Setrlimit(unix.RLIMIT_FSIZE, &was); e != nil {
		t.Fatal(e)
	}
	if !errors.Is(err, unix.EFBIG) {
		t.Fatalf("got %v", err)
	}
	if err := s.release(); err != nil {
		t.Error(err)
	}
	if want := bytes.Repeat(piece, pieces); !bytes.Equal(out.Bytes(), want) || bad.Len() != 0 {
		t.Errorf("got %d bytes and %d, want the %d that were written", out.Len(), bad.Len(), len(want))
	}
}
