package ghost

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// TestRules checks processes that run the image and are not ghosts, each for one reason.
func TestRules(t *testing.T) {
	image, rules := imageOf(t), lone(t).rules
	mapping := []syscall.SysProcIDMap{{ContainerID: 0, HostID: nobody, Size: 1}}
	other := exec.Command(image)
	other.SysProcAttr = &unix.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER, UidMappings: mapping, GidMappings: mapping, Credential: &unixCredential{NoSetGroups: true}}
	weak := exec.Command("setpriv", "--no-new-privs", image)
	weak.SysProcAttr = &unix.SysProcAttr{Credential: &unixCredential{Uid: nobody, Gid: nobody}}
	good := exec.Command(image)
	good.SysProcAttr = &unix.SysProcAttr{Credential: &unixCredential{Uid: nobody, Gid: nobody}}
	for reason, cmd := range map[string]*exec.Cmd{"user namespace": other, "capability": weak, "": good} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		pid := wire.PID(cmd.Process.Pid)
		var err error
		eventually(t, "it executes the image", func() bool {
			p, openErr := openProcess(pid)
			if openErr != nil {
				t.Fatal(openErr)
			}
			defer p.close()
			if rules.checkImage(p) != nil || !p.hasExecuted() {
				return false
			}
			_, err = rules.check(p, &wire.GhostAdopt{PID: pid, Parent: wire.PID(os.Getpid()), UID: nobody})
			return true
		})
		if got, _, _ := strings.Cut(errorText(err), " of "); got != reason {
			t.Errorf("got %v, want the reason %q", err, reason)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // the error says that it was killed
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestStrangersSignal sends a signal to a process that is not a ghost while a shard traces it: the
// signal reaches it.
func TestStrangersSignal(t *testing.T) {
	runtime.LockOSThread() // the tracer's thread; it ends with the test
	s := lone(t)
	end := filepath.Join(t.TempDir(), "end") // the shard would reap a child that ends before the test waits for it
	cmd := exec.Command("/bin/sh", "-c", `trap "echo signal" USR1; echo up; until [ -e "$0" ]; do sleep 0.01; done`, end)
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }()
	if _, err := io.ReadFull(out, make([]byte, len("up\n"))); err != nil {
		t.Fatal(err)
	}
	pid := wire.PID(cmd.Process.Pid)
	if err := ptrace(unix.PTRACE_SEIZE, pid, 0, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(int(pid), unix.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it stops for the signal", func() bool { return statField(t, pid, 0) == "t" })
	s.strangers[pid] = true
	eventually(t, "it is let go of", func() bool {
		s.poll(t)
		return len(s.strangers) == 0
	})
	text := make([]byte, len("signal\n"))
	if _, err := io.ReadFull(out, text); string(text) != "signal\n" {
		t.Errorf("it says %q, %v", text, err)
	}
	if err := os.WriteFile(end, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
