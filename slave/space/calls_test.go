package space_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// TestCalls has processes make calls that the front end answers or must know of.
func TestCalls(t *testing.T) {
	n := newNode(t)
	n.mustLaunch(command(70000, "sleep", "1000"))
	next := wire.PID(70000)
	native, narrow := probe, probe32(t)
	for _, c := range []struct {
		name string
		argv string // arguments of the probe
		want string
		told string
	}{
		{"group of one on the front end", "call getpgid 4000", "3999", "call 2 of PID [4000]"},
		{"session of one on the front end", "call getsid 4000", "3998", "call 3 of PID [4000]"},
		{"session of nobody", "call getsid 5", "ESRCH", "call 3 of PID [5]"},
		{"signal to one on the front end", "call kill 4000 9", "0", "call 4 of PID [4000 9]"},
		{"signal to one in the space", "call kill 70000 0", "0", ""},
		{"signal to init's own number", "call kill 1 9", "ESRCH", "call 4 of PID [1 9]"},
		{"thread of one on the front end", "call tgkill 4000 4000 10", "0", "call 5 of PID [4000 4000 10]"},
		{"thread on the front end", "call tkill 4000 10", "ESRCH", "call 5 of PID [0 4000 10]"},
		{"queued signal", "sigqueue 4000 34 17", "0", "call 6 of PID [4000 34]; info " +
			"[34 0 0 0 0 0 0 0 255 255 255 255 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0]"},
		{"descriptor", "call pidfd_open 4000 0", "ENFILE", "call 10 of PID [4000 0]"},
		{"descriptor of one in the space", "call pidfd_open 70000 0", "3", ""},
		{"new session of a group's leader", "call setsid", "EPERM", "regroups PID"},
		{"user", "call setresuid 5 5 5", "0", "recredits PID"},
		{"adopts orphans", "call prctl 36 1", "0", "reaper PID true"},
		{"dies with its parent", "call prctl 1 15", "0", "death PID 15"},
		{"own group", "call getpgid 0", "PID", ""},
	} {
		for kind, program := range map[string]string{"native": native, "32-bit": narrow} {
			if program == "" {
				continue
			}
			t.Run(c.name+"/"+kind, func(t *testing.T) {
				next++
				n.front.told()
				number := strings.NewReplacer("PID", next.String())
				want, wantTold := number.Replace(c.want), number.Replace(c.told)
				text, _ := n.output(command(next, append([]string{program}, strings.Fields(c.argv)...)...))
				// The descriptors below are the program's own.
				if got := strings.TrimSpace(text); got != want && (want != "3" || got < "3" || len(got) > 1) {
					t.Errorf("got %q, want %q", got, want)
				}
				if told := strings.Join(n.front.told(), "; "); told != wantTold {
					t.Errorf("told %q, want %q", told, wantTold)
				}
			})
		}
	}
}

// A process whose parent has ended has the parent that the ghosts' kernel names.
func TestGetppidOfOrphan(t *testing.T) {
	n := newNode(t)
	script := "(sleep 0.2; exec " + probe + " ppid) & echo $!; exit 0"
	text, _ := n.output(command(70001, "sh", "-c", script))
	orphan, answer, _ := strings.Cut(text, "\n")
	if answer != "1\n" {
		t.Errorf("got %q, want the front end's answer", text)
	}
	if told := strings.Join(n.front.told(), "; "); told != "call 1 of "+orphan+" []" {
		t.Errorf("told %q of %s", told, orphan)
	}
}

// A process that waits for the front end can be killed. Its call is then abandoned.
func TestCallerIsKilled(t *testing.T) {
	n := newNode(t)
	n.mustLaunch(command(70001, probe, "call", "kill", nobodyAnswers.String(), "0"))
	n.front.await(t, "waits")
	// Other calls are answered meanwhile.
	if text, _ := n.output(command(70002, probe, "call", "getpgid", frontEndPID.String())); text != "3999\n" {
		t.Errorf("another call: got %q", text)
	}
	if err := n.Signal(70001, info(unix.SIGKILL, codeUser, 1, 0, 0)); err != nil {
		t.Fatal(err)
	}
	if s := n.awaitStatus(70001, over); s.Signal() != unix.SIGKILL {
		t.Errorf("status %#x", s)
	}
	select {
	case err := <-n.front.silent:
		if err == nil {
			t.Error("the call ended without a cause")
		}
	case <-time.After(patience):
		t.Error("the call of a process that is gone goes on")
	}
}

func TestNewSession(t *testing.T) {
	n := newNode(t)
	text, _ := n.output(command(70001, "sh", "-c", probe+" call setsid & echo $!; wait"))
	caller, session, _ := strings.Cut(text, "\n")
	if session != caller+"\n" {
		t.Errorf("session of %s: got %q", caller, session)
	}
	if told := n.front.told(); len(told) == 0 || told[0] != "regroups "+caller { // its runtime may signal a thread of its own later
		t.Errorf("told %q of %s", told, caller)
	}
}

// Many processes call at once.
func TestManyCalls(t *testing.T) {
	n := newNode(t)
	const count = 50
	done := make(chan string, count)
	for i := range count {
		pid := wire.PID(71000 + i)
		go func() {
			text, _ := n.output(command(pid, "sh", "-c", "for i in 1 2 3; do "+probe+" call getsid "+strconv.Itoa(int(frontEndPID))+"; done"))
			done <- text
		}()
	}
	for range count {
		if text := <-done; text != "3998\n3998\n3998\n" {
			t.Errorf("got %q", text)
		}
	}
}

// A caller that waits for the front end cannot be frozen where it is. The other processes can, and
// it is frozen when it has its answer.
func TestFreezeWhileACallWaits(t *testing.T) {
	n := newNode(t)
	n.mustLaunch(command(70001, probe, "call", "kill", nobodyAnswers.String(), "0"))
	n.front.await(t, "waits")
	out := openDir(t) + "/out"
	sp := command(70002, "sh", "-c", "while :; do echo; done")
	sp.Command.Stdio[1] = file(out)
	n.mustLaunch(sp)
	if err := n.Freeze(); err != nil {
		t.Fatal(err)
	}
	before := int64(-1)
	for deadline := time.Now().Add(patience); size(t, out) != before; {
		before = size(t, out)
		time.Sleep(50 * time.Millisecond) // enough to write a lot
		if time.Now().After(deadline) {
			t.Fatal("it goes on")
		}
	}
	if err := n.Thaw(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); size(t, out) == before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not go on")
		}
	}
	if err := n.Freeze(); err != nil { // for the cleanup
		t.Fatal(err)
	}
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return st.Size()
}
