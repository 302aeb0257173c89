package space_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/slave/space"
	"bproc/wire"
)

// otherDaemon as the first argument makes this program a daemon that the tests can kill. The
// directory and name of the space, and bpinit, follow. It prints on its standard output what its
// front end is asked, and takes commands on its standard input.
const otherDaemon = "other-daemon"

func beOtherDaemon(args []string) int {
	front := newFrontEnd()
	n := &node{front: front}
	cfg := n.config(args[0], "/", args[2])
	cfg.Name = args[1]
	n.statuses, n.results, n.happened = make(map[wire.PID][]unix.WaitStatus), make(map[wire.PID]launchResult), make(chan struct{})
	s, err := space.Create(context.Background(), cfg)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	resume(s)
	fmt.Println("ready")
	go func() {
		for ; ; time.Sleep(time.Millisecond) {
			for _, said := range front.told() {
				fmt.Println(said)
			}
		}
	}()
	go func() { fmt.Println(s.Run(context.Background())) }()
	for commands := bufio.NewScanner(os.Stdin); commands.Scan(); { // it survives the space
		switch commands.Text() {
		case "freeze":
			fmt.Println("frozen", s.Freeze())
		case "launch": // of a process that waits in open for a writer of a FIFO
			sp := command(70001, "sh", "-c", "exit 3")
			sp.PGID, sp.SID, sp.Command.Stdio[0] = 60001, 60000, file(filepath.Join(args[0], "fifo"))
			fmt.Println("launching", s.Launch(sp, nil, nil, func(wire.Stage, unix.Errno) {}))
		}
	}
	return 0
}

// resume enters the processes that a former daemon has launched by command.
func resume(s *space.Space) {
	for _, pid := range s.PIDs() {
		s.Resume(pid, 4711, 0)
	}
}

// other is such a daemon as seen by the tests.
type other struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.Writer
	lines *bufio.Scanner
}

// startOther has another process be the daemon.
func (n *node) startOther(t *testing.T) *other {
	t.Helper()
	cmd := n.otherCommand()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	o := &other{t, cmd, in, bufio.NewScanner(out)}
	t.Cleanup(func() { in.Close(); o.kill() })
	o.await("ready")
	return o
}

func (n *node) otherCommand() *exec.Cmd {
	return exec.Command("/proc/self/exe", otherDaemon, n.cfg.Dir, n.cfg.Name, n.cfg.Init)
}

// await waits for a line that begins with what, and returns it.
func (o *other) await(what string) string {
	o.t.Helper()
	for o.lines.Scan() {
		if strings.HasPrefix(o.lines.Text(), what) {
			return o.lines.Text()
		}
	}
	o.t.Fatalf("the other daemon ends before it says %q", what)
	return ""
}

func (o *other) command(what, answer string) {
	o.t.Helper()
	if _, err := fmt.Fprintln(o.in, what); err != nil {
		o.t.Fatal(err)
	}
	o.await(answer)
}

func (o *other) kill() {
	_ = o.cmd.Process.Kill() // fails if it has ended
	_ = o.cmd.Wait()
}

// atSignal is a command that waits for a file go in a directory, and then runs the probe.
func atSignal(pid wire.PID, dir string, probeArgs string) *wire.Spawn {
	sp := command(pid, "sh", "-c", "while ! test -e "+dir+"/go; do sleep 0.01; done; exec "+probe+" "+probeArgs)
	sp.Command.Stdio[1] = file(filepath.Join(dir, pid.String()))
	return sp
}

func signalAll(t *testing.T, dir string) {
	t.Helper()
	if err := os.WriteFile(dir+"/go", nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

// A call that a daemon has received when it is killed or replaced is answered by the next, which
// asks the front end in the same words.
func TestCallInTheHandsOfADaemon(t *testing.T) {
	for name, killed := range map[string]bool{"that is killed": true, "that is replaced": false} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			dir := openDir(t)
			n.mustLaunch(atSignal(70001, dir, "call getpgid "+nobodyAnswers.String()))
			n.mustLaunch(atSignal(70002, dir, fmt.Sprintf("sigqueue %d 34 17", nobodyAnswers)))
			n.leave()
			o := n.startOther(t)
			signalAll(t, dir)
			ids := []string{o.await("waits"), o.await("waits")}
			if killed {
				o.kill()
			}
			n.front.knows = true
			n.start()
			for pid, want := range map[wire.PID]string{70001: "7\n", 70002: "0\n"} {
				n.awaitStatus(pid, over)
				if text, err := os.ReadFile(filepath.Join(dir, pid.String())); err != nil || string(text) != want {
					t.Errorf("%d: got %q, %v, want %q", pid, text, err, want)
				}
			}
			var again []string
			for _, said := range n.front.told() {
				if strings.HasPrefix(said, "waits") {
					again = append(again, said)
				}
			}
			slices.Sort(ids)
			slices.Sort(again)
			if !slices.Equal(again, ids) {
				t.Errorf("calls %q, want %q", again, ids)
			}
		})
	}
}

// Calls that only a daemon can answer wait for one, and others do not.
func TestCallsWhileThereIsNoDaemon(t *testing.T) {
	n := newNode(t)
	dir := openDir(t)
	calls := []struct{ call, want, told string }{
		{"call getpgid 4000", "3999", "call 2 of PID [4000]"},
		{"sigqueue 4000 34 17", "0", "call 6 of PID [4000 34]; info " +
			"[34 0 0 0 0 0 0 0 255 255 255 255 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0]"},
		{"call setresuid 5 5 5", "0", "recredits PID"},
		{"call prctl 36 1", "0", "reaper PID true"},
		{"ppid", "4711", ""},
	}
	for i, c := range calls {
		n.mustLaunch(atSignal(wire.PID(70001+i), dir, c.call))
	}
	n.mustLaunch(atSignal(70009, dir, "call kill 4000 9"))
	n.leave()
	signalAll(t, dir)
	awaitEnd(t, n.InitPID(), "70005")
	for i := range 4 {
		awaitNotified(t, n.hostPID(wire.PID(70001+i)))
	}
	caller := n.hostPID(70009)
	awaitNotified(t, caller)
	if err := unix.Kill(caller, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitEnd(t, n.InitPID(), "70009") // the call can be killed
	n.start()
	told := make(map[string]bool)
	for i, c := range calls {
		pid := wire.PID(70001 + i)
		n.awaitStatus(pid, over)
		if text, err := os.ReadFile(filepath.Join(dir, pid.String())); err != nil || string(text) != c.want+"\n" {
			t.Errorf("%s: got %q, %v, want %q", c.call, text, err, c.want)
		}
		told[strings.ReplaceAll(c.told, "PID", pid.String())] = true
	}
	said := strings.Join(n.front.told(), "; ")
	for wants := range told {
		for want := range strings.SplitSeq(wants, "; ") { // others may say something between
			if !strings.Contains(said, want) {
				t.Errorf("told %q, want %q in it", said, want)
			}
		}
	}
	if strings.Contains(said, "70009") {
		t.Errorf("told %q, with the call of a process that was killed", said)
	}
}

// awaitNotified waits until a process waits for the answer of a supervisor.
func awaitNotified(t *testing.T, host int) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		stack, err := os.ReadFile(fmt.Sprintf("/proc/%d/stack", host))
		if err == nil && strings.Contains(string(stack), "seccomp_do_user_notification") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d is at %q, %v", host, stack, err)
		}
	}
}

// Daemons are killed one after the other while processes call without a pause. No call is lost or
// gets a wrong answer.
func TestCallsWhileDaemonsAreKilled(t *testing.T) {
	n := newNode(t)
	dir := openDir(t)
	calls := map[wire.PID]string{
		70001: "getsid 4000", 70002: "getppid", 70003: "kill 4000 0", 70004: "setresuid 0 0 0", 70005: "kill 70005 0",
	}
	for pid, call := range calls {
		n.mustLaunch(atSignal(pid, dir, "cost 2000 "+call))
	}
	n.leave()
	signalAll(t, dir)
	for round := range 25 {
		o := n.startOther(t)
		time.Sleep(time.Duration(round) * time.Millisecond) // any moment is possible
		o.kill()
	}
	n.start()
	for pid, call := range calls {
		if s := n.awaitStatus(pid, over); !s.Exited() || s.ExitStatus() != 0 {
			t.Errorf("%s: status %#x, want exit 0", call, s)
		}
	}
}

// A daemon can be killed at any moment while it makes a space. The next one uses or removes what it
// leaves.
func TestDaemonThatIsKilledWhileItMakesASpace(t *testing.T) {
	for delay := time.Duration(0); delay < 120*time.Millisecond; delay += 5 * time.Millisecond {
		t.Run(delay.String(), func(t *testing.T) {
			n := newNode(t)
			if err := n.Destroy(t.Context()); err != nil {
				t.Fatal(err)
			}
			_ = n.stop()
			cmd := n.otherCommand()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(delay) // any moment is possible
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			n.start()
			if text, _ := n.output(command(70001, "echo", "hello")); text != "hello\n" {
				t.Errorf("got %q", text)
			}
		})
	}
}

// A daemon is killed with a launch under way, and while the space is frozen. The next one learns
// the result of the launch, and starts a process in the same group.
func TestLaunchInTheHandsOfADaemonThatIsKilled(t *testing.T) {
	n := newNode(t)
	fifo := filepath.Join(n.cfg.Dir, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	n.leave()
	o := n.startOther(t)
	o.command("launch", "launching <nil>")
	n.awaitProcess(70001)
	o.command("freeze", "frozen <nil>")
	o.kill()
	n.start()
	if got, want := n.Starting(), []wire.PID{70001}; !slices.Equal(got, want) {
		t.Errorf("starting: got %v, want %v", got, want)
	}
	w, err := os.OpenFile(fifo, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	if s := n.awaitStatus(70001, over); s.ExitStatus() != 3 {
		t.Errorf("status %#x, want exit 3", s)
	}
	n.mu.Lock()
	got, ok := n.results[70001]
	n.mu.Unlock()
	if !ok || got != (launchResult{}) {
		t.Errorf("launch: got %v, %v", got, ok)
	}
	sp := command(70002, probe, "call", "getpgid", "0")
	sp.PGID, sp.SID = 60001, 60000
	if text, _ := n.output(sp); text != "60001\n" {
		t.Errorf("group: got %q", text)
	}
}
