package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// crewScript is a program that forks the given number of workers, which print the signals that they
// get, and then children that end at once, one after the other.
const crewScript = `
$| = 1; my $n = shift; print "ready\n";
for (1..$n) {
	next if fork;
	$SIG{USR1} = sub { syswrite STDOUT, "got $$\n" };
	$SIG{USR2} = sub { syswrite STDOUT, "here $$\n" };
	$SIG{CONT} = sub { syswrite STDOUT, "on $$\n" };
	syswrite STDOUT, "worker $$\n";
	sleep 1 while 1;
}
$SIG{TERM} = sub { kill KILL => 0 };
for (my $i = 0; ; $i++) {
	my $p = fork; exit 7 if !$p;
	waitpid($p, 0); die "status $?\n" if $? != 7 << 8;
}
`

// crew is that program.
type crew struct {
	*remote
	workers []int
	rest    []string // lines that were read and not asked for
}

func newCrew(t *testing.T, c *cluster.Cluster, count int) *crew {
	t.Helper()
	w := &crew{remote: startRemote(t, c, cluster.Alice, 0, "perl", "-e", crewScript, strconv.Itoa(count))}
	for range count {
		pid, err := strconv.Atoi(strings.TrimPrefix(w.line(), "worker "))
		if err != nil {
			t.Fatal(err)
		}
		w.workers = append(w.workers, pid)
	}
	return w
}

// says waits for a line, in any order.
func (w *crew) says(want string) {
	w.t.Helper()
	for {
		if i := slices.Index(w.rest, want); i >= 0 {
			w.rest = slices.Delete(w.rest, i, i+1)
			return
		}
		w.rest = append(w.rest, w.line())
	}
}

// signal sends a ghost a signal on the front end.
func (w *crew) signal(pid int, sig unix.Signal) {
	w.t.Helper()
	if err := w.c.Front.Kill(pid, sig); err != nil {
		w.t.Fatal(err)
	}
}

// states returns the states of processes on their node, and of their ghosts.
func (w *crew) states() (processes, ghosts map[int]string, err error) {
	remote, err := w.c.Nodes[0].Procs()
	if err != nil {
		return nil, nil, err
	}
	local, err := w.c.Front.Ghosts()
	if err != nil {
		return nil, nil, err
	}
	processes, ghosts = map[int]string{}, map[int]string{}
	for _, p := range remote {
		if p.Space != 0 && p.State != "Z" {
			processes[p.Space] = p.State
		}
	}
	for _, p := range local {
		if p.State != "Z" {
			ghosts[p.PID] = p.State
		}
	}
	return processes, ghosts, nil
}

// become waits until workers are in a state, on both sides: "T", "S", or "" for gone. Sleeping and
// running count as the same.
func (w *crew) become(state string, workers ...int) {
	w.t.Helper()
	is := func(got string) bool {
		switch state {
		case "T":
			return stopped(got)
		case "":
			return got == ""
		}
		return got != "" && !stopped(got)
	}
	cluster.Eventually(w.t, fmt.Sprintf("%d workers are %q", len(workers), state), func() error {
		processes, ghosts, err := w.states()
		if err != nil {
			return err
		}
		for _, pid := range workers {
			if !is(processes[pid]) || !is(ghosts[pid]) {
				return fmt.Errorf("process %d is %q, its ghost %q", pid, processes[pid], ghosts[pid])
			}
		}
		return nil
	})
}

// lose removes workers from the crew.
func (w *crew) lose(workers ...int) {
	w.workers = slices.DeleteFunc(w.workers, func(pid int) bool { return slices.Contains(workers, pid) })
}

// held waits until a keeper holds the ghosts of all workers.
func (w *crew) held() {
	w.t.Helper()
	cluster.Eventually(w.t, "a keeper holds the ghosts", func() error {
		for _, pid := range w.workers {
			if err := w.isHeld(pid); err != nil {
				return err
			}
		}
		return nil
	})
}

// isHeld returns an error if a ghost has no keeper.
func (w *crew) isHeld(pid int) error {
	status, err := w.c.Front.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err == nil && strings.Contains(string(status), "TracerPid:\t0\n") {
		err = fmt.Errorf("nobody traces %d", pid)
	}
	return err
}

// answer has all workers print a signal. They have printed all earlier ones then.
func (w *crew) answer() {
	w.t.Helper()
	for _, pid := range w.workers {
		w.signal(pid, unix.SIGUSR2)
	}
	for _, pid := range w.workers {
		w.says(fmt.Sprintf("here %d", pid))
	}
	w.rest = nil
}

// end ends the crew, and checks that nothing of it is left.
func (w *crew) end() {
	w.t.Helper()
	w.kill(unix.SIGKILL)
	for _, pid := range w.workers {
		w.signal(pid, unix.SIGKILL)
	}
	if code := w.wait(); code != 137 {
		w.t.Errorf("exit code %d, want 137", code)
	}
	cluster.Eventually(w.t, "nothing is left", func() error { return idle(w.c) })
}

// TestKeeperAway sends signals while there is no keeper: they have their usual effects on a ghost,
// and its process follows.
func TestKeeperAway(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	w := newCrew(t, c, 12)
	stay, wait := w.workers[0:2], w.workers[2:4] // stopped before
	goOn, stop := w.workers[4:6], w.workers[6:8]
	die, dead := w.workers[8], w.workers[9]
	before := slices.Concat(stay, wait, goOn)
	for _, pid := range before {
		w.signal(pid, unix.SIGSTOP)
	}
	w.become("T", before...)
	if err := c.Master.Signal(unix.SIGSTOP); err != nil { // so that it starts no other keeper
		t.Fatal(err)
	}
	if err := c.KillKeeper(); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the keeper has ended", func() error {
		for _, pid := range slices.Concat(w.workers, []int{w.ghost}) { // each thread of it ends by itself
			if w.isHeld(pid) == nil {
				return fmt.Errorf("it still has %d", pid)
			}
		}
		return nil
	})
	for _, pid := range wait {
		w.signal(pid, unix.SIGUSR1) // is pending until it goes on
	}
	for _, pid := range goOn {
		w.signal(pid, unix.SIGCONT)
	}
	for _, pid := range stop {
		w.signal(pid, unix.SIGSTOP)
	}
	w.signal(die, unix.SIGTERM)
	w.signal(dead, unix.SIGKILL)
	if err := c.Master.Signal(unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	w.become("", die, dead)
	w.lose(die, dead)
	w.held()
	w.become("S", goOn...)
	w.become("T", slices.Concat(stay, wait, stop)...)
	for _, pid := range goOn {
		w.says(fmt.Sprintf("on %d", pid))
	}
	for _, pid := range slices.Concat(stay, wait, stop) {
		w.signal(pid, unix.SIGCONT)
		w.says(fmt.Sprintf("on %d", pid))
	}
	for _, pid := range wait {
		w.says(fmt.Sprintf("got %d", pid))
	}
	w.become("S", w.workers...)
	w.answer()
	w.end()
}

// TestKeeperKilledAtWork kills the keeper again and again while it is busy: ghosts are stopped and
// continued, get signals, are born and end. Those that got no signal at that moment live on,
// stopped or not. A signal that took effect on a ghost has the same effect on its process.
func TestKeeperKilledAtWork(t *testing.T) {
	t.Parallel()
	const seed = 1
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, seed))
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	w := newCrew(t, c, 200)
	for range 4 {
		random.Shuffle(len(w.workers), func(i, j int) { w.workers[i], w.workers[j] = w.workers[j], w.workers[i] })
		halted, halting, hit := slices.Clone(w.workers[:30]), slices.Clone(w.workers[30:60]), slices.Clone(w.workers[60:80])
		for _, pid := range halted {
			w.signal(pid, unix.SIGSTOP)
		}
		w.become("T", halted...)
		for _, pid := range halting {
			w.signal(pid, unix.SIGSTOP)
		}
		for _, pid := range hit {
			w.signal(pid, unix.SIGUSR1)
		}
		if err := c.KillKeeper(); err != nil {
			t.Fatal(err)
		}
		for _, pid := range hit {
			_ = c.Front.Kill(pid, unix.SIGUSR1) // it may have ended
		}
		w.lose(w.lost(hit)...)
		w.held()
		w.become("T", halted...)
		w.lost(halting)
		for _, pid := range w.workers {
			w.signal(pid, unix.SIGCONT)
		}
		w.become("S", w.workers...)
		w.become("S", w.ghost) // the process that forks
		w.answer()
	}
	w.end()
}

// lost waits until processes are in the states of their ghosts, which a keeper holds, and returns
// those that have ended.
func (w *crew) lost(workers []int) (lost []int) {
	w.t.Helper()
	cluster.Eventually(w.t, "processes are what their ghosts are", func() error {
		lost = nil
		processes, ghosts, err := w.states()
		if err != nil {
			return err
		}
		for _, pid := range workers {
			process, ghost := processes[pid], ghosts[pid]
			if (process == "") != (ghost == "") || stopped(process) != stopped(ghost) {
				return fmt.Errorf("process %d is %q, its ghost %q", pid, process, ghost)
			}
			if process == "" {
				lost = append(lost, pid)
			} else if err := w.isHeld(pid); err != nil {
				return err
			}
		}
		return nil
	})
	return lost
}

// confirmed is a time after which a node has received Progress for its events. This cannot be
// observed.
const confirmed = time.Second

// TestMasterAndKeeperKilled leaves no daemon on the front end that knows the ghosts.
func TestMasterAndKeeperKilled(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	var all []*remote
	var workers []int
	for range 6 {
		r := startRemote(t, c, cluster.Alice, 0, "sh", "-c", "echo ready; exec sleep 1000")
		all, workers = append(all, r), append(workers, r.ghost)
	}
	w := &crew{remote: all[0], workers: workers}
	halted, going := workers[:3], workers[3:]
	for _, pid := range halted {
		w.signal(pid, unix.SIGSTOP)
	}
	w.become("T", halted...)
	time.Sleep(confirmed)
	if err := c.Master.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := c.KillKeeper(); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the keeper has ended", func() error {
		for _, pid := range workers {
			if w.isHeld(pid) == nil {
				return fmt.Errorf("it still has %d", pid)
			}
		}
		return nil
	})
	// Two ghosts exchange their states.
	w.signal(halted[0], unix.SIGCONT)
	w.signal(going[0], unix.SIGSTOP)
	halted[0], going[0] = going[0], halted[0]
	if err := c.StartMaster(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitUp(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	w.held()
	w.become("T", halted...)
	w.become("S", going...)
	for _, pid := range halted {
		w.signal(pid, unix.SIGCONT)
	}
	w.become("S", halted...)
	for _, pid := range going {
		w.signal(pid, unix.SIGTERM)
	}
	w.become("", going...)
	for _, pid := range halted {
		w.signal(pid, unix.SIGKILL)
	}
	for _, r := range all {
		r.wait()
	}
	cluster.Eventually(t, "nothing is left", func() error { return idle(c) })
}
