package ghost

import (
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// TestFormerOfOthers checks that a keeper does not seize processes that a former keeper of its own
// did not hold, though they all look like ghosts that were held.
func TestFormerOfOthers(t *testing.T) {
	other := filepath.Join(t.TempDir(), "ghost")
	if err := Install(other); err != nil {
		t.Fatal(err)
	}
	living := newFixture(t)
	held := living.ghost(t, 0, "held")
	t.Cleanup(func() { endGhosts(t, other) })
	strays := []wire.PID{marked(t, other, 0), marked(t, imageOf(t), unix.CLONE_NEWPID)}
	own := marked(t, imageOf(t), 0)

	k, err := New(Config{Image: imageOf(t)}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	want := map[wire.PID]wire.PID{own: wire.PID(os.Getpid())}
	if got, more, err := k.former(); !maps.Equal(got, want) || more || err != nil {
		t.Errorf("to be seized: %v, and more %v, %v; want %v", got, more, err, want)
	}
	f := newFixture(t)
	if got := f.client.Held(); len(got) != 1 || got[0] != own {
		t.Errorf("held %v, want %d, not %d of another installation, %d of another PID namespace, %d of another keeper",
			got, own, strays[0], strays[1], held)
	}
	for _, pid := range strays {
		if st, err := readStatus(pid); err != nil || st.tracer != 0 {
			t.Errorf("process %d has the tracer %d, %v", pid, st.tracer, err)
		}
		if err := unix.Kill(int(pid), unix.SIGKILL); err != nil {
			t.Error(err)
		}
		wait(t, pid, 0)
	}
	f.end(t, own, 0)
	living.end(t, held, 0)
}

// marked starts a process of an image, in the new namespaces of the flags, that looks like a ghost
// that was held.
func marked(t *testing.T, image string, namespaces uintptr) wire.PID {
	t.Helper()
	p, err := os.StartProcess(image, []string{"stray"}, &os.ProcAttr{Env: []string{}, Sys: &unix.SysProcAttr{Cloneflags: namespaces}})
	if err != nil {
		t.Fatal(err)
	}
	pid := wire.PID(p.Pid)
	awaitImage(t, pid, image) // before that, the mark would be set on the test's own memory
	if err := markHeld(pid, false); err != nil {
		t.Fatal(err)
	}
	return pid
}
