package cluster_test

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// The bytes that a terminal sends for Ctrl-C, Ctrl-Z and Ctrl-\.
const (
	ctrlC         = "\x03"
	ctrlZ         = "\x1a"
	ctrlBackslash = "\x1c"
)

// wantSleep waits until the sleep on node 1 and its ghost are in a state; "" means that they are
// gone.
func wantSleep(t *testing.T, c *cluster.Cluster, want string) {
	t.Helper()
	cluster.Eventually(t, "sleep is "+want, func() error {
		for _, m := range []*cluster.Machine{c.Nodes[1], c.Front} {
			all, err := m.Named("sleep")
			if err != nil {
				return err
			}
			got := ""
			for _, p := range all {
				got += p.State
			}
			if got == "t" {
				got = "T"
			}
			if got != want {
				return fmt.Errorf("on %s it is %q: %+v", m.Name, got, all)
			}
		}
		return nil
	})
}

// TestJobControl is a session in an interactive bash.
func TestJobControl(t *testing.T) {
	t.Parallel()
	for _, user := range users {
		t.Run(user.Name, func(t *testing.T) {
			c := cluster.Shared(t, 4)
			wantIdle(t, c)
			term := newTerminal(t, c.Front, user)

			term.do("bpsh 1 sleep 1000")
			wantSleep(t, c, "S")
			term.typ(ctrlZ)
			term.expect("Stopped")
			term.expect(terminalPrompt)
			wantSleep(t, c, "T")

			term.do("bg")
			term.expect(terminalPrompt)
			wantSleep(t, c, "S")
			term.do("jobs")
			term.expect("Running")
			term.expect(terminalPrompt)

			term.do("kill -STOP %1; wait %1 2>/dev/null; jobs")
			term.expect("Stopped")
			wantSleep(t, c, "T")
			term.do("fg")
			wantSleep(t, c, "S")
			term.typ(ctrlC)
			term.expect(terminalPrompt)
			term.do("echo status $?")
			term.expect(fmt.Sprintf("status %d", 128+int(unix.SIGINT)))
			wantSleep(t, c, "")
		})
	}
}

// TestJobControlOfBprsh stops a bprsh whose command has no terminal.
func TestJobControlOfBprsh(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	term := newTerminal(t, c.Front, cluster.Alice)
	term.do("bprsh -n n1 sleep 1000")
	for range 2 {
		wantSleep(t, c, "S")
		term.typ(ctrlZ)
		term.expect("Stopped")
		term.expect(terminalPrompt)
		wantSleep(t, c, "T")
		term.do("fg")
	}
	wantSleep(t, c, "S")
	term.typ(ctrlC)
	term.expect(terminalPrompt)
	term.do("echo status $?")
	term.expect("status 130")
	wantSleep(t, c, "")
}

// TestEndsFromTheShell has a shell end a remote job in each of its ways.
func TestEndsFromTheShell(t *testing.T) {
	t.Parallel()
	stop := func(term *terminal) {
		term.typ(ctrlZ)
		term.expect("Stopped")
		term.expect(terminalPrompt)
	}
	for _, tc := range []struct {
		name string
		do   func(term *terminal)
	}{
		{"Ctrl-C", func(term *terminal) {
			term.typ(ctrlC)
			term.expect(terminalPrompt)
			term.do("echo status $?")
			term.expect("status 130")
		}},
		{"Ctrl-\\", func(term *terminal) {
			term.typ(ctrlBackslash)
			if shown := term.expect(terminalPrompt); strings.Contains(shown, "goroutine") {
				term.t.Errorf("the terminal shows %q", shown)
			}
			term.do("echo status $?")
			term.expect("status 131")
		}},
		{"kill %1", func(term *terminal) {
			stop(term)
			term.do("kill %1; fg; echo over $?")
			// bpsh may be dead already when fg looks, may die of the signal, or exit with the
			// status of the process that did.
			if shown := term.expect("over ") + term.expect(terminalPrompt); !strings.Contains(shown, "erminated") && !strings.Contains(shown, "143") {
				term.t.Errorf("the terminal shows %q", shown)
			}
		}},
		{"kill -9 %1", func(term *terminal) {
			stop(term)
			term.do("kill -9 %1; fg; echo over $?")
			if shown := term.expect("over ") + term.expect(terminalPrompt); !strings.Contains(shown, "erminated") && !strings.Contains(shown, "Killed") {
				term.t.Errorf("the terminal shows %q", shown)
			}
		}},
		{"hang-up", func(term *terminal) { term.master.Close() }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := cluster.Shared(t, 4)
			wantIdle(t, c)
			term := newTerminal(t, c.Front, cluster.Alice)
			term.do("bpsh 1 sleep 1000")
			wantSleep(t, c, "S")
			tc.do(term)
			wantSleep(t, c, "")
		})
	}
}

// TestPipelineOfNodes stops and ends a job that is on several nodes.
func TestPipelineOfNodes(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	term := newTerminal(t, c.Front, cluster.Alice)
	term.do("bpsh 0 yes | bpsh 2 cat | bpsh 1 sh -c 'cat >/dev/null & exec sleep 1000'")
	wantSleep(t, c, "S")
	term.typ(ctrlZ)
	term.expect("Stopped")
	wantSleep(t, c, "T")
	term.do("fg")
	wantSleep(t, c, "S")
	term.typ(ctrlC)
	term.expect(terminalPrompt)
	wantSleep(t, c, "")
}
