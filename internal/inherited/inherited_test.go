package inherited_test

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/internal/inherited"
	"bproc/internal/oldkernel"
)

func TestCloseOnExec(t *testing.T) {
	for name, on := range map[string]func(func() error) error{
		"this kernel": func(f func() error) error { return f() },
		"Linux 5.10":  oldkernel.Do,
	} {
		var files [2]int
		for i := range files {
			fd, err := unix.Open(os.DevNull, unix.O_RDONLY, 0) // without O_CLOEXEC, as if inherited
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(fd)
			files[i] = fd
		}
		if err := on(func() error { return inherited.CloseOnExec(files[1]) }); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i, want := range []int{0, unix.FD_CLOEXEC} {
			if got, err := unix.FcntlInt(uintptr(files[i]), unix.F_GETFD, 0); err != nil || got != want {
				t.Errorf("%s: flags of descriptor %d: got %d, %v, want %d", name, i, got, err, want)
			}
		}
	}
}
