package client

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/internal/widepipe"
)

// TestWiden checks what becomes of the capacity of a pipe.
func TestWiden(t *testing.T) {
	const little, much = 64 << 10, 1 << 20
	for name, tt := range map[string]struct {
		stream     func(r, w *os.File) any
		size, want int
	}{
		"input":         {func(r, _ *os.File) any { return NewFile(r) }, little, widepipe.Size},
		"awaited input": {func(r, _ *os.File) any { return FromFile(NewFile(r)) }, little, widepipe.Size},
		"output":        {func(_, w *os.File) any { return NewFile(w) }, little, widepipe.Size},
		"read output":   {func(r, w *os.File) any { return &OutputPipe{Reader: r, writer: w} }, little, widepipe.Size},
		"wider":         {func(r, _ *os.File) any { return NewFile(r) }, much, much},
		"no file":       {func(_, _ *os.File) any { return os.ErrClosed }, little, little},
	} {
		t.Run(name, func(t *testing.T) {
			var fds [2]int
			if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
				t.Fatal(err)
			}
			r, w := os.NewFile(uintptr(fds[0]), "r"), os.NewFile(uintptr(fds[1]), "w")
			defer r.Close()
			defer w.Close()
			if _, err := unix.FcntlInt(uintptr(fds[0]), unix.F_SETPIPE_SZ, tt.size); err != nil {
				t.Fatal(err)
			}
			stream := tt.stream(r, w)
			widen(stream)
			if i, ok := stream.(*fileInput); ok {
				i.InputEnded()
			}
			if got, err := unix.FcntlInt(uintptr(fds[0]), unix.F_GETPIPE_SZ, 0); err != nil || got != tt.want {
				t.Errorf("got %d, %v, want %d", got, err, tt.want)
			}
		})
	}
}
