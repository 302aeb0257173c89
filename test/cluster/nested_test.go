package cluster_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// TestNested has processes of nodes start others, on the same node and on others.
func TestNested(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	for _, user := range users {
		for _, tt := range []struct {
			name, line     string
			code           int
			stdout, stderr string
		}{
			{"elsewhere", "bpsh 0 bpsh 1 hostname", 0, "n1\n", ""},
			{"on the same node", "bpsh 0 bpsh 0 hostname", 0, "n0\n", ""},
			{"status", "bpsh 0 bpsh 1 sh -c 'exit 7'", 7, "", ""},
			{"signal", "bpsh 0 bpsh 1 sh -c 'kill -9 $$'", 137, "", ""},
			{"agent", "bpsh 0 bprsh n1 'sh -c \"exit 3\"'", 3, "", ""},
			{"bytes", "seq 300000 | bpsh 0 bpsh 1 cat | cmp - <(seq 300000) && echo same", 0, "same\n", ""},
			{"three deep", "bpsh 0 bpsh 1 bpsh 2 bpsh 3 sh -c 'hostname; hostname >&2; exit 5'", 5, "n3\n", "n3\n"},
			{"many nodes", "bpsh 0 bpsh -p all hostname | sort", 0, "  0: n0\n  1: n1\n  2: n2\n  3: n3\n", ""},
			{"the caller is the parent", "bpsh 0 sh -c 'echo $$; exec bpsh 1 sh -c \"echo \\$PPID\"' | uniq | wc -l", 0, "1\n", ""},
			{"no command", "bpsh 0 bpsh 1 /nowhere", 127, "", "bpsh: node 1: /nowhere: command not found\n"},
			{"no node", "bpsh 0 bpsh 77 true", 255, "", "bpsh: node 77: no such node\n"},
			{"the front end", "bpsh 0 bpsh -1 true", 255, "", "bpsh: nodes start nothing on the front end\n"},
			{"environment", "X=1 bpsh 0 env Y=2 bpsh 1 sh -c 'umask; echo $X$Y'", 0, "0022\n12\n", ""},
			{"umask", "bpsh 0 sh -c 'umask 27; bpsh 1 sh -c umask'", 0, "0027\n", ""},
			{"in time", "bpsh 0 bpsh --timeout 1s 1 sleep 1000", 124, "", "bpsh: node 1: timed out after 1s\n"},
			{
				"descendants in time", "bpsh 0 bpsh --timeout 1s 1 sh -c 'sleep 1000 & wait'; bpsh 1 pgrep -x sleep",
				1, "", "bpsh: node 1: timed out after 1s\n",
			},
			{"user", "bpsh 0 bpsh 1 id -u", 0, fmt.Sprintln(user.UID), ""},
			{"time", "bpsh 0 bpsh -t 1 true 2>&1 | sed 's/[0-9.][0-9.]*/N/g'", 0, "N N user N system N KiB\n", ""},
		} {
			t.Run(user.Name+" "+tt.name, func(t *testing.T) {
				res, err := c.Front.Exec(t.Context(), user, "bash", "-c", tt.line)
				if err != nil {
					t.Fatal(err)
				}
				if res.Code != tt.code || res.Stdout != tt.stdout || res.Stderr != tt.stderr {
					t.Errorf("got %+v, want code %d, %q and %q", res, tt.code, tt.stdout, tt.stderr)
				}
			})
		}
	}
	wantIdle(t, c)
}

// TestNestedTogether has many processes of nodes start others at the same time.
func TestNestedTogether(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	res := bpsh(t, c, cluster.Alice, "0-1", "sh", "-c", `seq 100 | xargs -P 100 -I{} bpsh -n 2-3 sh -c 'echo {}; exit 3' | sort | uniq -c | awk '{print $1}' | sort | uniq -c`)
	if want := strings.Repeat("    100 2\n", 2); res.Code != 0 || res.Stdout != want || res.Stderr != "" {
		t.Errorf("got %+v, want %q", res, want)
	}
	wantIdle(t, c)
}

// nestedIn starts a process three nodes deep, and returns the ghosts of all three, outermost first.
func nestedIn(t *testing.T, c *cluster.Cluster, stdin io.Reader, script string) (r *remote, ghosts []int) {
	t.Helper()
	r = startRemoteWith(t, c, cluster.Alice, 0, stdin, "bpsh", "1", "bpsh", "2", "sh", "-c", script)
	ghosts = []int{r.ghost}
	for range 2 {
		ghosts = append(ghosts, onlyChild(t, c.Front, ghosts[len(ghosts)-1]))
	}
	return r, ghosts
}

// TestNestedTree checks the front end's process tree, and ends it at each level.
func TestNestedTree(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	const script = "echo ready; exec sleep 1000"
	for _, tt := range []struct {
		name string
		end  func(r *remote, ghosts []int) error
		code int
	}{
		{"the innermost", func(_ *remote, ghosts []int) error { return c.Front.Kill(ghosts[2], unix.SIGTERM) }, 128 + 15},
		{"in the middle", func(_ *remote, ghosts []int) error { return c.Front.Kill(ghosts[1], unix.SIGKILL) }, 128 + 9},
		{"in the middle, to be passed on", func(_ *remote, ghosts []int) error { return c.Front.Kill(ghosts[1], unix.SIGTERM) }, 128 + 15},
		{"the outermost", func(_ *remote, ghosts []int) error { return c.Front.Kill(ghosts[0], unix.SIGKILL) }, 128 + 9},
		{"bpsh", func(r *remote, _ []int) error { r.kill(unix.SIGKILL); return nil }, 128 + 9},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, ghosts := nestedIn(t, c, nil, script)
			for i, want := range []string{"bpsh 1 bpsh 2 sh -c " + script, "bpsh 2 sh -c " + script, "sleep 1000"} {
				cluster.Eventually(t, "each ghost has the command line of its process", func() error {
					p, err := c.Front.Proc(ghosts[i])
					if err != nil {
						return err
					}
					if got := strings.Join(p.Args, " "); got != want {
						return fmt.Errorf("ghost %d is %q, want %q", i, got, want)
					}
					return nil
				})
			}
			if err := tt.end(r, ghosts); err != nil {
				t.Fatal(err)
			}
			if got := r.wait(); got != tt.code {
				t.Errorf("got status %d, want %d", got, tt.code)
			}
			cluster.Eventually(t, "nothing runs any more", func() error { return idle(c) })
		})
	}
}

// TestNestedAgent ends a bprsh on a node: the process that it has started gets the signal. bprsh
// does not catch signals in its first milliseconds; SIGUSR1 has no effect on it then, and shows
// when that time is over.
func TestNestedAgent(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	const script = `trap 'trap "" USR1; echo catches' USR1; trap 'echo got it; exit 4' TERM; echo ready; while :; do sleep 0.1; done`
	for _, sig := range []unix.Signal{unix.SIGTERM, unix.SIGKILL} {
		r := startRemote(t, c, cluster.Alice, 0, "bprsh", "n1", script)
		for heard := false; !heard; {
			if err := c.Front.Kill(r.ghost, unix.SIGUSR1); err != nil {
				t.Fatal(err)
			}
			select {
			case got := <-r.lines:
				if heard = got == "catches"; !heard {
					t.Fatalf("got %q", got)
				}
			case <-time.After(50 * time.Millisecond):
			}
		}
		if err := c.Front.Kill(r.ghost, sig); err != nil {
			t.Fatal(err)
		}
		want := 128 + 9
		if sig == unix.SIGTERM {
			r.expect("got it")
			want = 4
		}
		if got := r.wait(); got != want {
			t.Errorf("%v: got status %d, want %d", sig, got, want)
		}
		cluster.Eventually(t, "nothing runs any more", func() error { return idle(c) })
	}
}

// TestNestedAway kills the daemons one after the other, and cuts nodes off, while a process three
// nodes deep reads and writes: neither data nor its status are lost.
func TestNestedAway(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 3})
	in, write := pipe(t)
	r, _ := nestedIn(t, c, in, "echo ready; while read line; do echo got $line; done; exit 5")
	in.Close()
	slave := func(i int) func() error {
		return func() error { return errors.Join(c.Slaves[i].Kill(), c.StartSlave(t.Context(), i)) }
	}
	cut := func(i int) func() error { return func() error { return errors.Join(c.Cut(i), c.Heal(i)) } }
	for i, fault := range []func() error{
		slave(0), slave(1), slave(2), cut(0), cut(1), cut(2), c.KillKeeper,
		func() error { return errors.Join(c.Master.Kill(), c.StartMaster(t.Context())) },
	} {
		if err := fault(); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintln(write, i); err != nil {
			t.Fatal(err)
		}
		r.expect(fmt.Sprint("got ", i))
	}
	if err := write.Close(); err != nil {
		t.Fatal(err)
	}
	if got := r.wait(); got != 5 {
		t.Errorf("got status %d, want 5", got)
	}
	cluster.Eventually(t, "nothing runs any more", func() error { return idle(c) })
}

// TestNestedLostBefore ends the session of a node, one of whose processes starts another, before that
// runs: the launch has failed then, and nothing of it stays.
func TestNestedLostBefore(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 2})
	if err := c.Cut(1); err != nil {
		t.Fatal(err)
	}
	cmd := c.Front.Command(t.Context(), cluster.Alice, "bpsh", "0", "bpsh", "1", "sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the new process has a ghost", func() error {
		all, err := c.Front.Procs()
		if err == nil && !slices.ContainsFunc(all, func(p cluster.Proc) bool { return p.Comm == "sleep" }) {
			err = errors.New("no process is called sleep")
		}
		return err
	})
	if err := errors.Join(c.Slaves[0].Kill(), c.StartSlave(t.Context(), 0), c.Heal(1)); err != nil {
		t.Fatal(err)
	}
	awaitEnd(t, cmd)
	if got := cmd.ProcessState.ExitCode(); got != 255 {
		t.Errorf("got status %d, want 255", got)
	}
	cluster.Eventually(t, "nothing runs any more", func() error { return idle(c) })
}

// TestNestedTrust has processes of a node with limited trust start others.
func TestNestedTrust(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 2, Limited: true})
	denied := cluster.Result{Code: 255, Stderr: "bpsh: node 1: nodes with limited trust start nothing on others\n"}
	for _, tt := range []struct {
		user cluster.User
		args []string
		want cluster.Result
	}{
		{cluster.Alice, []string{"0", "bpsh", "1", "true"}, denied},
		{cluster.Alice, []string{"0", "bpsh", "0", "id", "-u"}, cluster.Result{Stdout: fmt.Sprintln(cluster.Alice.UID)}},
		{cluster.Root, []string{"0", "bpsh", "1", "true"}, denied},
		{cluster.Root, []string{"0", "bpsh", "0", "id", "-u"}, cluster.Result{Stdout: "0\n"}},
	} {
		if got := bpsh(t, c, tt.user, tt.args...); got != tt.want {
			t.Errorf("%s, %v: got %+v, want %+v", tt.user.Name, tt.args, got, tt.want)
		}
	}
	cluster.Eventually(t, "nothing runs any more", func() error { return idle(c) })
}
