package bpjob

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/synctest"

	"golang.org/x/sys/unix"

	"bproc/internal/job/file"
	"bproc/internal/job/life"
	"bproc/internal/job/place"
)

// standIn starts a program in the place of a supervisor. It ends with 7 on SIGTERM, and with 0 at the
// end of its input.
func standIn(t *testing.T) (*exec.Cmd, io.Closer) {
	t.Helper()
	cmd := exec.Command("sh", "-c", "trap 'exit 7' TERM; echo ready; read x; exit 0")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return cmd, in
}

// TestSignalSupervisor checks that another program with the number of a former supervisor gets no
// signal.
func TestSignalSupervisor(t *testing.T) {
	for name, tt := range map[string]struct {
		late uint64
		code int
	}{"the supervisor": {0, 7}, "another program": {1, 0}} {
		cmd, in := standIn(t)
		p := place.Process{Job: place.Job{Root: t.TempDir(), Name: "web"}, Process: "web"}
		if err := os.MkdirAll(filepath.Dir(p.PIDFile()), 0o755); err != nil {
			t.Fatal(err)
		}
		r := place.Record{Record: life.Record{State: life.Stopped, Run: 1}, Supervisor: cmd.Process.Pid, Born: place.Born(cmd.Process.Pid) - tt.late}
		if err := p.Write(r); err != nil {
			t.Fatal(err)
		}
		if sent, err := signalSupervisor(p, r, unix.SIGTERM); err != nil || sent != (tt.code != 0) {
			t.Fatalf("%s: got %v, %v", name, sent, err)
		}
		_ = in.Close()
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != tt.code {
			t.Errorf("%s: exit code %d, want %d", name, code, tt.code)
		}
	}
}

// TestStopOfUnknownSupervisor checks that a stop does not wait for a supervisor that it cannot ask to
// end, since the record names a former one.
func TestStopOfUnknownSupervisor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := place.Process{Job: place.Job{Root: t.TempDir(), Name: "web"}, Process: "web"}
		lock, err := p.Supervise()
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Close()
		r := place.Record{Record: life.Record{State: life.Stopped, Run: 1}, Supervisor: os.Getpid(), Born: 1}
		if err := p.Write(r); err != nil {
			t.Fatal(err)
		}
		if err := new(Command).end(t.Context(), p); err == nil {
			t.Error("the supervisor has ended")
		}
	})
}

// TestStartInRestartWait checks that a start ends a supervisor that waits for a restart: it has the
// job file and the nodes of an earlier start.
func TestStartInRestartWait(t *testing.T) {
	cmd, in := standIn(t)
	defer in.Close()
	ch := &chosen{place: place.Process{Job: place.Job{Root: t.TempDir(), Name: "web"}, Process: "web"}, job: new(file.Job), wanted: "1"}
	lock, err := ch.place.Supervise()
	if err != nil {
		t.Fatal(err)
	}
	r := place.Record{Record: life.Record{State: life.Waiting, Run: 1}, Supervisor: cmd.Process.Pid, Born: place.Born(cmd.Process.Pid)}
	if err := ch.place.Write(r); err != nil {
		t.Fatal(err)
	}
	ended := make(chan int, 1)
	go func() {
		_ = cmd.Wait()
		ended <- cmd.ProcessState.ExitCode()
		lock.Close()
	}()
	if running, err := new(Command).awaitStart(t.Context(), ch); running || err != nil {
		t.Fatalf("got %v, %v", running, err)
	}
	if code := <-ended; code != 7 {
		t.Errorf("the supervisor: exit code %d", code)
	}
}
