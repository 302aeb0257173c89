package ghost

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// freezer is a control group that can freeze its processes.
type freezer struct {
	dir, file        string
	frozen, thawed   string
	reports, reached string // the file that reports the state, and its text
}

// eachFreezer runs a test with version 2 of control groups, in which a tracer can stop a frozen
// process, and, if the kernel has the controller, with version 1, in which it cannot.
func eachFreezer(t *testing.T, do func(t *testing.T, z *freezer)) {
	versions := map[string]freezer{
		"cgroup2": {file: "cgroup.freeze", frozen: "1", thawed: "0", reports: "cgroup.events", reached: "frozen 1"},
		"cgroup":  {file: "freezer.state", frozen: "FROZEN", thawed: "THAWED", reports: "freezer.state", reached: "FROZEN"},
	}
	for kind, z := range versions {
		t.Run(kind, func(t *testing.T) {
			top, options := t.TempDir(), ""
			if kind == "cgroup" {
				options = "freezer"
			}
			switch err := unix.Mount(kind, top, kind, 0, options); {
			case err != nil && kind == "cgroup":
				t.Logf("the kernel has no freezer of version 1: %v", err)
				return
			case err != nil:
				t.Fatal(err)
			}
			z.dir = filepath.Join(top, "ghost"+strings.ReplaceAll(filepath.Base(filepath.Dir(top)), "/", "-"))
			if err := os.Mkdir(z.dir, 0o755); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				z.thaw(t)
				eventually(t, "its group is empty", func() bool { return os.Remove(z.dir) == nil })
				if err := unix.Unmount(top, unix.MNT_DETACH); err != nil {
					t.Error(err)
				}
			})
			do(t, &z)
		})
	}
}

func (z *freezer) write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(z.dir, file), []byte(text), 0); err != nil {
		t.Fatal(err)
	}
}

// add adds a process to the control group.
func (z *freezer) add(t *testing.T, pid wire.PID) {
	t.Helper()
	z.write(t, "cgroup.procs", strconv.Itoa(int(pid)))
}

func (z *freezer) freeze(t *testing.T) {
	t.Helper()
	z.write(t, z.file, z.frozen)
	eventually(t, "it is frozen", func() bool {
		text, err := os.ReadFile(filepath.Join(z.dir, z.reports))
		return err == nil && strings.Contains(string(text), z.reached)
	})
}

func (z *freezer) thaw(t *testing.T) {
	t.Helper()
	z.write(t, z.file, z.thawed)
}

// TestFrozen freezes more ghosts than the keeper has threads. Requests about them take effect in
// order when they are thawed; nothing else waits for that.
func TestFrozen(t *testing.T) { eachFreezer(t, frozen) }

func frozen(t *testing.T, z *freezer) {
	t.Helper()
	f := newFixture(t)
	var frozen []wire.PID
	for range 4 {
		pid := f.ghost(t, nobody, "frozen")
		z.add(t, pid)
		frozen = append(frozen, pid)
	}
	other := f.ghost(t, nobody, "other")
	z.freeze(t)
	const child wire.PID = 2500000
	for i, pid := range frozen {
		c := child + wire.PID(i)
		f.tell(t, &wire.GhostExec{PID: pid, Argv: []string{"parent"}})
		f.tell(t, &wire.GhostFork{Parent: pid, Child: c})
		f.tell(t, &wire.GhostExec{PID: c, Argv: []string{"child"}})
		f.tell(t, &wire.GhostJoin{PID: c, SID: c})
	}
	f.must(t, &wire.GhostSync{PID: other})
	for range 8 {
		f.end(t, f.ghost(t, nobody, "another"), 0)
	}
	// The master gets answers, since others wait for what it waits for.
	for _, pid := range frozen {
		f.must(t, &wire.GhostSync{PID: pid})
	}
	if errno := f.ask(t, &wire.GhostCall{PID: frozen[0], Op: wire.CallKill, Args: []int64{int64(other), int64(unix.SIGUSR1)}}); errno != unix.EAGAIN {
		t.Errorf("kill by a frozen ghost: %v", errno)
	}
	f.nextMaster(t)
	z.thaw(t)
	for i, pid := range frozen {
		c := child + wire.PID(i)
		eventually(t, "the last that was asked", func() bool { return statField(t, c, 3) == strconv.Itoa(int(c)) })
		for is, p := range map[string]wire.PID{"parent": pid, "child": c} {
			eventually(t, "its command line is "+is, func() bool { // it is empty during execve(2)
				argv, err := commandLine(p)
				return err == nil && len(argv) == 1 && argv[0] == is
			})
		}
		f.must(t, &wire.GhostExit{PID: c})
		f.end(t, pid, 0)
	}
	f.end(t, other, 0)
	f.quiet(t)
}

// TestFrozenAdopted freezes ghosts before they are adopted.
func TestFrozenAdopted(t *testing.T) { eachFreezer(t, frozenAdopted) }

func frozenAdopted(t *testing.T, z *freezer) {
	t.Helper()
	f := newFixture(t)
	own := wire.PID(os.Getpid())
	var frozen []wire.PID
	for _, name := range []string{"up", filepath.Base(imageOf(t))} { // it has this name until it comes up
		for range 2 {
			pid := start(t, nobody, name)
			z.add(t, pid)
			frozen = append(frozen, pid)
		}
	}
	z.freeze(t)
	for _, pid := range frozen {
		f.tell(t, &wire.GhostAdopt{PID: pid, Parent: own, UID: nobody})
	}
	f.end(t, f.ghost(t, nobody, "other"), 0)
	for _, pid := range frozen {
		if errno := f.ask(t, &wire.GhostAdopt{PID: pid, UID: AnyUser}); errno != unix.EEXIST {
			t.Errorf("it is held: %v", errno)
		}
	}
	z.thaw(t)
	for _, pid := range frozen {
		f.end(t, pid, 0)
	}
}

// TestFrozenKilled sends a frozen ghost SIGKILL before it has made a ghost that the master was told
// of.
func TestFrozenKilled(t *testing.T) { eachFreezer(t, frozenKilled) }

func frozenKilled(t *testing.T, z *freezer) {
	t.Helper()
	f := newFixture(t)
	pid := f.ghost(t, nobody, "frozen")
	z.add(t, pid)
	z.freeze(t)
	const child wire.PID = 2510000
	f.must(t, &wire.GhostFork{Parent: pid, Child: child})
	if err := unix.Kill(int(pid), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	z.thaw(t)
	if sig, _ := f.signal(t, pid); sig != unix.SIGKILL {
		t.Errorf("it got %v", sig)
	}
	if gone := f.gone(t, child); gone.Asked {
		t.Error("the end of its child was asked for")
	}
	f.end(t, pid, wire.SignalStatus(int(unix.SIGKILL)))
}

// TestFrozenKeeper ends a keeper, and starts the next one, while ghosts are frozen.
func TestFrozenKeeper(t *testing.T) { eachFreezer(t, frozenKeeper) }

func frozenKeeper(t *testing.T, z *freezer) {
	t.Helper()
	first := newFixture(t)
	var frozen []wire.PID
	for range 4 {
		pid := first.ghost(t, nobody, "frozen")
		z.add(t, pid)
		frozen = append(frozen, pid)
	}
	z.freeze(t)
	for _, pid := range frozen {
		first.tell(t, &wire.GhostExec{PID: pid, Argv: []string{"parent"}})
	}
	first.stopKeeper(t)
	f := keeperAt(t, first.socket)
	f.end(t, f.ghost(t, nobody, "other"), 0)
	z.thaw(t)
	for _, pid := range frozen {
		f.must(t, &wire.GhostExec{PID: pid, Argv: []string{"parent"}})
		f.end(t, pid, 0)
	}
}

// TestFrozenFlood makes more requests about a frozen ghost than are kept.
func TestFrozenFlood(t *testing.T) { eachFreezer(t, frozenFlood) }

func frozenFlood(t *testing.T, z *freezer) {
	t.Helper()
	f := newFixture(t)
	pid := f.ghost(t, nobody, "frozen")
	z.add(t, pid)
	z.freeze(t)
	const before = 16 // requests that may count already: on a slow machine the ghost was late while it was made
	for n := range maxEarly {
		refused := f.ask(t, &wire.GhostExec{PID: pid, Argv: []string{"kept"}})
		if refused == unix.EAGAIN && n > maxEarly-before {
			break
		}
		if refused != 0 {
			t.Fatalf("request %d: got %v", n, refused)
		}
	}
	// More requests are kept until it is clear that the ghost is not merely slow.
	for range 2 {
		if refused := f.ask(t, &wire.GhostFork{Parent: pid, Child: 2520000}); refused != unix.EAGAIN {
			t.Errorf("got %v, want %v", refused, unix.EAGAIN)
		}
	}
	if refused := f.ask(t, &wire.GhostExec{PID: pid, Argv: []string{strings.Repeat("x", 2<<20)}}); refused != unix.EAGAIN {
		t.Errorf("got %v, want %v", refused, unix.EAGAIN)
	}
	f.tell(t, &wire.GhostExit{PID: pid})
	z.thaw(t)
	wait(t, pid, 0)
}

// TestFavour adopts a ghost of the idle policy that may use only one processor.
func TestFavour(t *testing.T) {
	f := newFixture(t)
	pid := start(t, nobody, "g")
	one := unix.CPUSet{}
	one.Set(0)
	if err := unix.SchedSetaffinity(int(pid), &one); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setpriority(unix.PRIO_PROCESS, int(pid), 7); err != nil {
		t.Fatal(err)
	}
	if err := unix.SchedSetAttr(int(pid), &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0); err != nil {
		t.Fatal(err)
	}
	f.must(t, &wire.GhostAdopt{PID: pid, Parent: wire.PID(os.Getpid()), UID: nobody})
	attr, err := unix.SchedGetAttr(int(pid), 0)
	if err != nil {
		t.Fatal(err)
	}
	if attr.Policy != unix.SCHED_NORMAL || attr.Nice != 7 {
		t.Errorf("policy %d, nice %d", attr.Policy, attr.Nice)
	}
	var own, now unix.CPUSet
	if err := unix.SchedGetaffinity(0, &own); err != nil {
		t.Fatal(err)
	}
	if err := unix.SchedGetaffinity(int(pid), &now); err != nil || now != own {
		t.Errorf("it runs on %v, %v, want %v", now, err, own)
	}
	f.end(t, pid, 0)
}

// TestFrozenReuse passes a number to a ghost of another tree while requests about it wait.
func TestFrozenReuse(t *testing.T) { eachFreezer(t, frozenReuse) }

func frozenReuse(t *testing.T, z *freezer) {
	t.Helper()
	f := newFixture(t)
	first, second, third := f.ghost(t, nobody, "first"), f.ghost(t, nobody, "second"), f.ghost(t, nobody, "third")
	if tracer(t, first) != tracer(t, third) {
		t.Fatal("the keeper has two threads, and they do not get ghosts in turn")
	}
	const child wire.PID = 2530000
	for _, maker := range []wire.PID{first, third} {
		z.add(t, maker)
		z.freeze(t)
		f.must(t, &wire.GhostFork{Parent: maker, Child: child})
		z.thaw(t)
		f.must(t, &wire.GhostExit{PID: child})
		f.gone(t, child)
	}
	for _, pid := range []wire.PID{first, second, third} {
		f.end(t, pid, 0)
	}
}

func tracer(t *testing.T, pid wire.PID) wire.PID {
	t.Helper()
	st, err := readStatus(pid)
	if err != nil {
		t.Fatal(err)
	}
	return st.tracer
}

// TestFrozenMaker freezes a ghost that is asked for a child first of all: requests about the child
// wait for that.
func TestFrozenMaker(t *testing.T) { eachFreezer(t, frozenMaker) }

func frozenMaker(t *testing.T, z *freezer) {
	t.Helper()
	f := newFixture(t)
	pid := f.ghost(t, nobody, "maker")
	z.add(t, pid)
	z.freeze(t)
	const child wire.PID = 2540000
	f.tell(t, &wire.GhostFork{Parent: pid, Child: child})
	f.must(t, &wire.GhostSync{PID: pid})
	f.tell(t, &wire.GhostFork{Parent: pid, Child: child + 1})
	f.tell(t, &wire.GhostExit{PID: child})
	f.tell(t, &wire.GhostExit{PID: child + 1})
	z.thaw(t)
	f.gone(t, child)
	f.gone(t, child+1)
	f.end(t, pid, 0)
}
