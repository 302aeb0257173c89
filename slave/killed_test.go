package slave

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/limit"
	"bproc/wire"
)

// daemonEnv has this program be the daemon of a node: master, token and directory.
const daemonEnv = "BPROC_TEST_SLAVE"

func TestMain(m *testing.M) {
	Reexec()
	args := strings.Fields(os.Getenv(daemonEnv))
	if len(args) == 0 {
		limit.Tests(m)
		return
	}
	cfg := Config{
		Master: args[0], Token: args[1], Root: "/",
		State: filepath.Join(args[2], "state"), Runtime: filepath.Join(args[2], "run"), Lib: args[2],
		patience: testPatience,
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	ctx, end := context.WithCancel(context.Background())
	if cfg.Keep = slices.Contains(args, "keep"); slices.Contains(args, "end") {
		end()
	}
	restart := make(chan os.Signal, 1)
	signal.Notify(restart, unix.SIGHUP)
	cfg.Restart = restart
	err := Run(ctx, cfg, log)
	end()
	if slices.Contains(args, "linger") {
		time.Sleep(lingerTime)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "daemon:", err)
		unix.Exit(1)
	}
}

// testPatience is the patience of daemons in tests: what they do in time on a usual machine must
// also be seen on a slow one, however long it takes.
const testPatience patience = 20

// lingerTime is how long a daemon that is told to "linger" takes from the end of Run to its own, as
// a daemon may that gets no processor.
const lingerTime = 2 * time.Second

// daemons are the daemons of a node, one after the other.
type daemons struct {
	t   *testing.T
	f   *front
	dir string
	cmd *exec.Cmd
	log bytes.Buffer
}

func newDaemons(t *testing.T, f *front) *daemons {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("a process space is made by root")
	}
	dir, err := os.MkdirTemp("", "bpslave")
	if err != nil {
		t.Fatal(err)
	}
	d := &daemons{t: t, f: f, dir: dir}
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "bpinit"), "bproc/cmd/bpinit")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build bpinit: %v\n%s", err, text)
	}
	d.start()
	t.Cleanup(func() {
		d.end()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("daemons:\n%s", d.log.String())
		}
	})
	return d
}

// start starts a daemon and waits for its session.
func (d *daemons) start(told ...string) {
	d.t.Helper()
	d.f.mu.Lock()
	before := d.f.sessions
	d.f.mu.Unlock()
	d.begin(told...)
	d.f.await("a session", func() bool { return d.f.sessions > before })
}

// begin starts a daemon, which may be told to "keep" processes, to "end" before it begins,
// and to "linger" when it ends.
func (d *daemons) begin(told ...string) {
	d.t.Helper()
	d.cmd = exec.Command("/proc/self/exe")
	d.cmd.Env = append(os.Environ(), daemonEnv+"="+strings.Join(append([]string{d.f.listener.Addr().String(), d.f.token, d.dir}, told...), " "))
	d.cmd.Stderr = &d.log
	if err := d.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
}

// ends waits for the end of a daemon that is told to end.
func (d *daemons) ends() {
	d.t.Helper()
	late := time.AfterFunc(endTime, func() { _ = d.cmd.Process.Kill() })
	defer late.Stop()
	if err := d.cmd.Wait(); err != nil {
		d.t.Fatalf("a daemon that was told to end: %v", err)
	}
}

// endTime is longer than a daemon may take to end its processes and its space.
var endTime = testPatience.bound(startTime + leaveTime + destroyTime)

// kill kills the daemon.
func (d *daemons) kill() {
	_ = d.cmd.Process.Kill()
	_ = d.cmd.Wait()
}

// end ends the daemon and its space.
func (d *daemons) end() {
	d.kill()
	cfg := DefaultConfig()
	cfg.Runtime, cfg.Lib, cfg.Root = filepath.Join(d.dir, "run"), d.dir, "/"
	cfg.patience = testPatience
	n, err := newNode(context.Background(), cfg, wire.Block{}, slog.New(slog.DiscardHandler))
	if err == nil {
		err = n.destroy(context.Background())
	}
	if err != nil {
		d.t.Error(err)
	}
}

// TestDaemonsKilled kills daemons at random moments while processes write, read, fork and end. The
// front end learns everything, once.
func TestDaemonsKilled(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 3))
	f := newFront(t, seed)
	d := newDaemons(t, f)

	input := make([]byte, 12<<20)
	for i := range input {
		input[i] = byte(r.Uint32())
	}
	writer := f.start(70001, nil, "sh", "-c", "seq 1 1500000; exit 3")
	reader := f.start(70002, input, "sh", "-c", "sha256sum; echo err >&2")
	forker := f.start(70003, nil, "sh", "-c", "i=0; while [ $i -lt 150 ]; do (exec sleep 1000) & echo $!; sleep 0.01; i=$((i+1)); done; wait")
	sleeper := f.start(70004, nil, "sh", "-c", "kill -STOP $$; exit 9")
	jobs := []*job{writer, reader, forker, sleeper}
	f.await("all run", func() bool { return writer.spawned && reader.spawned && forker.spawned && sleeper.spawned })
	for i := range 12 {
		jobs = append(jobs, f.start(70010+wire.PID(i), nil, "sh", "-c", fmt.Sprintf("sleep 0.%02d; exit %d", 10*i, i)))
		if i%3 == 2 {
			time.Sleep(time.Duration(r.IntN(80_000)) * time.Microsecond)
			d.kill()
			time.Sleep(time.Duration(r.IntN(100_000)) * time.Microsecond)
			d.start()
		}
	}
	d.disturb(r, 8)
	f.await("all are born", func() bool { // events and output come on two streams
		born := strings.Fields(forker.text[0].String())
		return len(born) == 150 && !slices.ContainsFunc(born, func(pid string) bool { return !f.known(pid) })
	})
	f.mu.Lock()
	f.signal(sleeper.spawn.PID, unix.SIGCONT)
	for pid, parent := range f.procs {
		if parent == forker.spawn.PID {
			f.signal(pid, unix.SIGTERM)
		}
	}
	f.mu.Unlock()
	for _, j := range jobs {
		f.await(fmt.Sprint(j, " has ended"), func() bool { return j.finished() || j.failed })
	}
	f.await("no process is left", func() bool { return len(f.procs) == 0 })

	f.mu.Lock()
	defer f.mu.Unlock()
	wrote(t, writer, 1_500_000)
	if got, want := reader.text[0].String(), hexSum(input)+"  -\n"; got != want || reader.text[1].String() != "err\n" {
		t.Errorf("the reader says %q and %q, want %q", got, &reader.text[1], want)
	}
	forked(t, f, forker, 150)
	for j, want := range map[*job]int{writer: 3, reader: 0, forker: 0, sleeper: 9} {
		exited(t, j, want)
	}
	for i, j := range jobs[4:] {
		exited(t, j, i)
	}
}

// known reports whether a process was reported to the front end. The lock is held.
func (f *front) known(pid string) bool {
	n, err := strconv.Atoi(pid)
	_, ever := f.ever[wire.PID(n)]
	return err == nil && ever
}

// disturb kills and starts daemons.
func (d *daemons) disturb(r *rand.Rand, times int) {
	d.t.Helper()
	for range times {
		time.Sleep(time.Duration(r.IntN(150_000)) * time.Microsecond)
		d.kill()
		d.start()
	}
}

// wrote checks that a job's output is what seq(1) writes.
func wrote(t *testing.T, j *job, count int) {
	t.Helper()
	var lines bytes.Buffer
	for i := range count {
		lines.WriteString(strconv.Itoa(i + 1))
		lines.WriteByte('\n')
	}
	if !bytes.Equal(j.text[0].Bytes(), lines.Bytes()) {
		t.Errorf("%d bytes of output, want %d, the same", j.text[0].Len(), lines.Len())
	}
}

// forked checks that the front end knows the children that a job has printed. The lock is held.
func forked(t *testing.T, f *front, j *job, count int) {
	t.Helper()
	born := strings.Fields(j.text[0].String())
	if len(born) != count {
		t.Errorf("%d children, want %d", len(born), count)
	}
	for _, text := range born {
		if pid, _ := strconv.Atoi(text); f.ever[wire.PID(pid)] != j.spawn.PID {
			t.Errorf("child %s has parent %d", text, f.ever[wire.PID(pid)])
		}
	}
}

// exited checks the exit code of a job. A job whose daemon died before it had asked init for it was
// asked for again.
func exited(t *testing.T, j *job, code int) {
	t.Helper()
	if j.failed {
		t.Errorf("%v could not be started", j)
		return
	}
	if status := unix.WaitStatus(j.status); !status.Exited() || status.ExitStatus() != code {
		t.Errorf("%v: status %#x, want exit code %d", j, j.status, code)
	}
}
