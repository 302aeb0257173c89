package supervise

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// The kernel's translation agrees with the status files, where it translates (Linux 6.11).
func TestNumberInNamespace(t *testing.T) {
	ns := openNamespace(1)
	if ns < 0 {
		t.Log("this kernel does not translate, or the namespace of 1 is not to be seen")
		ns = -1
	} else {
		defer unix.Close(ns)
	}
	v := ownView(t)
	v.ns = ns
	for _, c := range []struct {
		name string
		tid  uint32
		want wire.PID
		ok   bool
	}{
		{"this thread", uint32(unix.Gettid()), wire.PID(os.Getpid()), true},
		{"nobody", 1 << 22, 0, false},
	} {
		if got, ok := v.number(c.tid); ok != c.ok || ok && got != c.want {
			t.Errorf("%s: got %v, %v, want %v, %v", c.name, got, ok, c.want, c.ok)
		}
	}
}
