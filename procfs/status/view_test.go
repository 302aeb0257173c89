package status_test

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/procfs/status"
	"bproc/wire"
)

// markers are the ways of finding changes.
var markers = map[string]func(*status.Collector) error{
	"kernel": func(*status.Collector) error { return nil },
	"procfs": (*status.Collector).ByProcfs,
}

// TestViewTells changes a process in many ways, and checks what is told of it. Nothing is told
// while it does nothing.
func TestViewTells(t *testing.T) {
	nice := "5"
	if own, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err != nil {
		t.Fatal(err)
	} else if own == 20-5 { // the process already has that value
		nice = "6"
	}
	for name, by := range markers {
		t.Run(name, func(t *testing.T) {
			s := newSpace(t)
			c := s.collector()
			if err := by(c); err != nil {
				t.Fatal(err)
			}
			v := c.View(true)
			pid := s.start("sleep 1000")
			groups := 0
			until(t, c, v, "the birth", texts(pid, func(t *wire.Texts) bool {
				if t.Cgroup != nil {
					groups++
				}
				return has("Name:\tsleep\nUmask:\t0022\nState:\tS ")(t)
			}))
			if groups == 0 || name == "kernel" && groups > 1 {
				t.Errorf("its control groups are told %d times", groups)
			}
			changes := []struct {
				name, line string
				is         func(*wire.Texts) bool
			}{
				{"stop", "kill -STOP %d", has("State:\tT ")},
				{"signal that waits", "kill -USR1 %d", has("ShdPnd:\t0000000000000200\n")},
				{"priority", "renice -n " + nice + " -p %d >/dev/null", func(t *wire.Texts) bool { return strings.Fields(string(t.Stat))[18] == nice }},
				{"processors", "taskset -p 1 %d >/dev/null", has("Cpus_allowed_list:\t0\n")},
			}
			if runtime.NumCPU() == 1 { // pinning it is no change
				changes = changes[:len(changes)-1]
			}
			for _, change := range changes {
				s.run(fmt.Sprintf(change.line, pid) + "; echo done")
				until(t, c, v, change.name, texts(pid, change.is))
				until(t, c, v, "nothing after "+change.name, func(m wire.Changed) bool {
					return !texts(pid, func(*wire.Texts) bool { return true })(m)
				})
			}
			s.run(fmt.Sprintf("kill -KILL %d; wait %[1]d; echo done", pid))
			until(t, c, v, "the end", func(m wire.Changed) bool { return slices.Contains(m.Ended, pid) })
			if m := news(t, c, v); slices.Contains(m.Ended, pid) {
				t.Error("the end is told twice")
			}
		})
	}
}

// TestViewTellsAll checks that a second viewer is told the same as the first, and that init is not
// told.
func TestViewTellsAll(t *testing.T) {
	s := newSpace(t)
	c := s.collector()
	pids := []wire.PID{s.start("sleep 1000"), s.start("sleep 1000")}
	for range 2 {
		v := c.View(true)
		until(t, c, v, "all processes", func(m wire.Changed) bool {
			var got []wire.PID
			for _, p := range m.Procs {
				got = append(got, p.PID)
			}
			slices.Sort(got)
			return slices.Equal(got, pids)
		})
	}
}

// pending is a line of status.
var pending = regexp.MustCompile(`(?m)^SigQ:.*\n`)

// TestViewTellsTexts compares the texts with those of the space's procfs for a user who may not
// inspect the process.
func TestViewTellsTexts(t *testing.T) {
	s := newSpace(t)
	c := s.collector()
	v := c.View(true)
	pid := s.start("setpriv --reuid 12345 --regid 12346 --clear-groups sleep 1000")
	var got wire.Texts
	until(t, c, v, "the program", texts(pid, func(t *wire.Texts) bool {
		groups := got.Cgroup
		if got = *t; got.Cgroup == nil { // unchanged
			got.Cgroup = groups
		}
		settled := has("State:\tS ")(t) && bytes.Contains(t.Stat, []byte("(sleep) S ")) // stat is read first
		return settled && t.UID != 0                                                    // it was root's while it executed
	}))
	if got.UID != 12345 || got.GID != 12346 {
		t.Errorf("the owner is %d:%d", got.UID, got.GID)
	}
	dir := fmt.Sprintf("/proc/self/fd/%d/%d/", s.proc.Fd(), pid)
	for name, text := range map[string][]byte{"status": got.Status, "statm": got.Statm, "cmdline": got.Cmdline, "cgroup": got.Cgroup} {
		want, err := os.ReadFile(dir + name)
		if err != nil {
			t.Fatal(err)
		}
		// The number of pending signals includes those of the user's other processes.
		if got, want := pending.ReplaceAllString(string(text), ""), pending.ReplaceAllString(string(want), ""); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	want, err := os.ReadFile(dir + "stat")
	if err != nil {
		t.Fatal(err)
	}
	fields, wanted := strings.Fields(string(got.Stat)), strings.Fields(string(want))
	hidden := map[int]string{26: "1", 27: "1", 28: "0", 35: "0", 45: "0", 46: "0", 47: "0", 48: "0", 49: "0", 50: "0", 51: "0"}
	for i := range wanted {
		// Addresses, and whether it waits, are not for all users (proc_pid_stat(5)).
		if zero, secret := hidden[i+1]; secret {
			wanted[i] = zero
		}
		if fields[i] != wanted[i] {
			t.Errorf("stat, field %d: got %s, want %s", i+1, fields[i], wanted[i])
		}
	}
	if fmt.Sprint(got.Start) != fields[21] {
		t.Errorf("start is %d, stat has %s", got.Start, fields[21])
	}
}

// TestViewTellsThreads has one thread of many run: the others do not change.
func TestViewTellsThreads(t *testing.T) {
	s := newSpace(t)
	c := s.collector()
	v := c.View(true)
	const program = `import threading, time, signal
signal.signal(signal.SIGUSR1, lambda *a: None)
for i in range(3): threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
while True: signal.pause()`
	pid := s.start("python3 -c '" + program + "'")
	until(t, c, v, "four threads", texts(pid, func(t *wire.Texts) bool { return len(t.Threads) == 4 }))
	until(t, c, v, "rest", func(m wire.Changed) bool { return len(m.Procs) == 0 })
	// The memory that they share changes the texts of all, but not each time.
	wake := func() { s.run(fmt.Sprintf("kill -USR1 %d; echo done", pid)) }
	wake()
	until(t, c, v, "a change of one thread", texts(pid, func(texts *wire.Texts) bool {
		wake()
		same := 0
		for _, th := range texts.Threads {
			if th.Same {
				same++
			} else if !strings.HasPrefix(string(th.Stat), fmt.Sprintf("%d (", th.TID)) || !strings.Contains(string(th.Status), fmt.Sprintf("\nPid:\t%d\n", th.TID)) {
				t.Errorf("thread %d: %q, %q", th.TID, th.Stat, th.Status)
			}
		}
		return same > 0 && same < 4
	}))
}

// TestDaemonStaysRoot checks that the daemon stays root: the threads that read give up their own
// identity only.
func TestDaemonStaysRoot(t *testing.T) {
	s := newSpace(t)
	c := s.collector()
	pid := s.start("sleep 1000")
	for range 20 {
		news(t, c, c.View(true))
		if err := c.Fetch(&wire.Fetch{PID: pid, Kind: wire.FetchFile, Path: "stat", UID: 12345, GID: 12345}, func(*wire.Piece) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if uid, err := unix.SetfsuidRetUid(-1); uid != 0 || err != nil {
		t.Errorf("files are opened as %d, %v", uid, err)
	}
	caps, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(caps), "CapEff:\t0000000000000000") || strings.Contains(string(caps), "\t65534") {
		t.Errorf("the first thread is %s", caps)
	}
}
