package space_test

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// TestKeep gives init descriptors to keep. The next daemon gets them, with their open files
// unchanged.
func TestKeep(t *testing.T) {
	n := newNode(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	sp := command(70001, "sh", "-c", "read word; echo $word")
	sp.Command.Stdio[0] = wire.Descriptor{Mode: wire.DescriptorStream}
	sp.Command.Stdio[1] = wire.Descriptor{Mode: wire.DescriptorStream}
	in, feed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	for name, files := range map[string][]*os.File{"launch 70001": {feed, r}, "other": {r}} {
		if err := n.Keep(name, files...); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.Drop("other"); err != nil {
		t.Fatal(err)
	}
	n.mustLaunch(sp, in, w)
	for _, f := range []*os.File{r, w, in, feed} {
		f.Close()
	}
	n.leave()
	n.start()
	kept := n.Kept()
	files := kept["launch 70001"]
	if len(kept) != 1 || len(files) != 2 {
		t.Fatalf("kept: %v", kept)
	}
	if _, err := files[0].WriteString("hello\n"); err != nil {
		t.Fatal(err)
	}
	files[0].Close()
	n.awaitStatus(70001, over)
	if err := n.Drop("launch 70001"); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(files[1])
	files[1].Close()
	if err != nil || string(text) != "hello\n" {
		t.Errorf("got %q, %v", text, err)
	}
	if err := n.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	n.leave()
	n.start()
	if kept := n.Kept(); len(kept) != 0 {
		t.Errorf("kept: %v", kept)
	}
}

// No process holds open a kept pipe or pipes of other processes.
func TestProcessesDoNotHoldWhatIsKept(t *testing.T) {
	n := newNode(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := n.Keep("pipe", w); err != nil {
		t.Fatal(err)
	}
	w.Close()
	for pid, group := range map[wire.PID]wire.PID{70001: 0, 70002: 60001} {
		sp := command(pid, "sleep", "1000")
		if group != 0 {
			sp.PGID, sp.SID = group, 60000
		}
		n.mustLaunch(sp)
	}
	if text, _ := n.output(command(70003, "sh", "-c", "ls /proc/70001/fd /proc/70002/fd /proc/self/fd | grep -c .")); strings.TrimSpace(text) != "13" {
		t.Errorf("%s lines, want 13: three names, the three descriptors of each and one of ls", strings.TrimSpace(text))
	}
	if err := n.Drop("pipe"); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(r); err != nil || len(text) != 0 {
		t.Errorf("got %q, %v", text, err)
	}
}

// A daemon that comes later is told again how launched processes ended.
func TestForget(t *testing.T) {
	n := newNode(t)
	n.mustLaunch(command(70001, "sh", "-c", "exit 3"))
	n.mustLaunch(command(70002, "sh", "-c", "exit 4"))
	n.launch(command(70003, "no-such-command"))
	n.awaitStatus(70001, over)
	n.awaitStatus(70002, over)
	if err := errors.Join(n.Forget(70001), n.Sync(t.Context())); err != nil {
		t.Fatal(err)
	}
	n.leave()
	n.start()
	if got, want := n.PIDs(), []wire.PID{70002}; !slices.Equal(got, want) {
		t.Errorf("processes: got %v, want %v", got, want)
	}
	if s := n.awaitStatus(70002, over); s.ExitStatus() != 4 {
		t.Errorf("status %#x, want exit 4", s)
	}
	if err := n.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if got, want := n.results[70003], (launchResult{wire.StageExec, unix.ENOENT}); got != want || len(n.results) != 1 {
		t.Errorf("launches: got %v, want %v of 70003", n.results, want)
	}
	if len(n.statuses[70001]) != 0 {
		t.Error("told again of what is forgotten")
	}
}
