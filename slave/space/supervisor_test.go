package space_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bproc/wire"
)

func TestGetppid(t *testing.T) {
	n := newNode(t)
	sp := command(70001, probe, "ppid")
	sp.Parent = 12345
	if text, _ := n.output(sp); text != "12345\n" {
		t.Errorf("started from the front end: got %q, want its parent there", text)
	}
	sp = command(70002, probe, "ppid-thread")
	sp.Parent = 12346
	if text, _ := n.output(sp); text != "12346\n" {
		t.Errorf("from another thread: got %q", text)
	}
	if text, _ := n.output(command(70003, "sh", "-c", probe+" ppid; true")); text != "70003\n" {
		t.Errorf("forked on the node: got %q, want the kernel's answer", text)
	}
}

func TestGetppidAfterTheParentEnded(t *testing.T) {
	n := newNode(t)
	dir := openDir(t)
	done := filepath.Join(dir, "done")
	n.mustLaunch(command(70001, "sh", "-c", "while ! test -e "+done+"; do sleep 0.01; done; exec "+probe+" ppid >"+dir+"/out"))
	n.SetParent(70001, 1)
	if err := os.WriteFile(done, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	n.awaitStatus(70001, over)
	if got, err := os.ReadFile(dir + "/out"); err != nil || string(got) != "1\n" {
		t.Errorf("got %q, %v, want 1", got, err)
	}
}

// probe32 returns the probe as a 32-bit program; "": this kernel runs none.
func probe32(t *testing.T) string {
	program := filepath.Join(openDir(t), "probe32")
	build := exec.Command("go", "build", "-o", program, "./testdata/probe")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH="+arch32)
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if err := exec.Command(program, "ppid").Run(); err != nil {
		t.Logf("this kernel runs no 32-bit programs: %v", err)
		return ""
	}
	return program
}

// A 32-bit program has another number for getppid and must not pass unseen.
func TestGetppidOf32Bit(t *testing.T) {
	program := probe32(t)
	if program == "" {
		return
	}
	n := newNode(t)
	sp := command(70001, program, "ppid")
	sp.Parent = 12345
	if text, _ := n.output(sp); text != "12345\n" {
		t.Errorf("got %q", text)
	}
}

// Each process asks for its parent as soon as it runs, while many others begin and end.
func TestGetppidOfMany(t *testing.T) {
	n := newNode(t)
	out := openDir(t)
	const count = 100
	for i := range count {
		sp := command(wire.PID(70000+i), probe, "ppid")
		sp.Parent = wire.PID(1000 + i)
		sp.Command.Stdio[1] = file(fmt.Sprintf("%s/%d", out, i))
		n.mustLaunch(sp)
	}
	for i := range count {
		n.awaitStatus(wire.PID(70000+i), over)
		text, err := os.ReadFile(fmt.Sprintf("%s/%d", out, i))
		if err != nil || strings.TrimSpace(string(text)) != fmt.Sprint(1000+i) {
			t.Errorf("process %d: got %q, %v", 70000+i, text, err)
		}
	}
}
