package bpjob

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/internal/job/life"
	"bproc/internal/job/place"
)

// TestSignalSupervisor checks that another program with the number of a former supervisor gets no
// signal.
func TestSignalSupervisor(t *testing.T) {
	for name, tt := range map[string]struct {
		late uint64
		code int
	}{"the supervisor": {0, 7}, "another program": {1, 0}} {
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
		p := place.Process{Job: place.Job{Root: t.TempDir(), Name: "web"}, Process: "web"}
		if err := os.MkdirAll(filepath.Dir(p.PIDFile()), 0o755); err != nil {
			t.Fatal(err)
		}
		r := place.Record{Record: life.Record{State: life.Stopped, Run: 1}, Supervisor: cmd.Process.Pid, Born: place.Born(cmd.Process.Pid) - tt.late}
		if err := p.Write(r); err != nil {
			t.Fatal(err)
		}
		if err := signalSupervisor(p, r, unix.SIGTERM); err != nil {
			t.Fatal(err)
		}
		_ = in.Close()
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != tt.code {
			t.Errorf("%s: exit code %d, want %d", name, code, tt.code)
		}
	}
}
