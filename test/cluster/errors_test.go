package cluster_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"bproc/ghost"
	"bproc/test/cluster"
)

// wantError checks that a command has reported an error in one line, which names its subject, and
// has no other output.
func wantError(t *testing.T, res cluster.Result, command string, code int, mentions ...string) {
	t.Helper()
	if res.Code != code {
		t.Errorf("exit code %d, want %d", res.Code, code)
	}
	if res.Stdout != "" {
		t.Errorf("standard output %q, want nothing", res.Stdout)
	}
	line, rest, _ := strings.Cut(res.Stderr, "\n")
	if rest != "" || !strings.HasPrefix(line, command+": ") {
		t.Errorf("standard error %q, want one line that begins with %q", res.Stderr, command+": ")
	}
	for _, word := range mentions {
		if !strings.Contains(line, word) {
			t.Errorf("standard error %q does not mention %q", line, word)
		}
	}
}

// TestErrors has users make mistakes. Nothing of the attempts may be left.
func TestErrors(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	for _, tc := range []struct {
		name     string
		argv     []string
		code     int
		mentions []string
	}{
		{"no such node", []string{"bpsh", "17", "true"}, 255, []string{"node 17"}},
		{"no node of that name", []string{"bpsh", "nowhere", "true"}, 255, []string{"nowhere"}},
		{"no such command", []string{"bpsh", "1", "no-such-command"}, 127, []string{"no-such-command"}},
		{"no such file", []string{"bpsh", "1", "/no/such/file"}, 127, []string{"/no/such/file"}},
		{"not executable", []string{"bpsh", "1", "/etc/passwd"}, 126, []string{"/etc/passwd"}},
		{"a directory", []string{"bpsh", "1", "/etc"}, 126, []string{"/etc"}},
		{"file of the node", []string{"bpsh", "-I", "/no/such/input", "1", "cat"}, 255, []string{"/no/such/input"}},
		{"no command", []string{"bpsh", "1"}, 255, nil},
		{"unknown option", []string{"bpsh", "--what", "1", "true"}, 255, []string{"--what"}},
		{"enrol without being root", []string{"bpctl", "enroll"}, 1, []string{"root"}},
		{"privileges given up", []string{"setpriv", "--no-new-privs", "bpsh", "1", "true"}, 255, []string{"no_new_privs"}},
		{"state of an unknown node", []string{"bpstat", "17"}, 1, []string{"17"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			res, err := c.Front.Exec(t.Context(), cluster.Alice, tc.argv...)
			if err != nil {
				t.Fatal(err)
			}
			command := tc.argv[0]
			if command == "setpriv" {
				command = "bpsh"
			}
			wantError(t, res, command, tc.code, tc.mentions...)
		})
	}
}

// TestNoMaster runs commands where no master runs.
func TestNoMaster(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{NoSlaves: true})
	if err := c.Master.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	var asked sync.WaitGroup
	for _, tc := range []struct {
		argv []string
		code int
	}{
		{[]string{"bpsh", "0", "true"}, 255},
		{[]string{"bpstat"}, 1},
		{[]string{"bpctl", "enroll"}, 1},
	} {
		asked.Go(func() { // each waits for a while for a master that may be about to start
			res, err := c.Front.Exec(t.Context(), cluster.Root, tc.argv...)
			if err != nil {
				t.Error(err)
				return
			}
			wantError(t, res, tc.argv[0], tc.code, "no master", "/run/bproc/master.sock")
		})
	}
	asked.Wait()
}

func TestNodeDown(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 2, MasterConfig: "lease 1\n"})
	if err := c.Nodes[1].Off(); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitDown(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	wantError(t, bpsh(t, c, cluster.Alice, "1", "true"), "bpsh", 255, "node 1", "down")
	cluster.Eventually(t, "nothing is left", func() error { return idle1(c.Front, c.Nodes[0]) })
}

// idle1 is idle for the nodes that are on.
func idle1(front *cluster.Machine, nodes ...*cluster.Machine) error {
	return idle(&cluster.Cluster{Front: front, Nodes: nodes})
}

// TestPermission closes a node to ordinary users.
func TestPermission(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 2})
	ask(t, c.Front, cluster.Root, "bpctl", "-S", "1", "-m", "0100")
	wantError(t, bpsh(t, c, cluster.Alice, "1", "true"), "bpsh", 255, "node 1", "ermission denied")
	if res := bpsh(t, c, cluster.Root, "1", "true"); res.Code != 0 {
		t.Errorf("its owner: got %+v", res)
	}
	ask(t, c.Front, cluster.Root, "bpctl", "-S", "1", "-u", "alice")
	if res := bpsh(t, c, cluster.Alice, "1", "true"); res.Code != 0 {
		t.Errorf("its new owner: got %+v", res)
	}
	wantError(t, bpsh(t, c, cluster.Bob, "1", "true"), "bpsh", 255, "node 1", "ermission denied")
	cluster.Eventually(t, "nothing is left", func() error { return idle(c) })
}

// TestJoinRefused has slaves join with invalid tokens.
func TestJoinRefused(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1, NoSlaves: true})
	const ttl = time.Second
	short := ask(t, c.Front, cluster.Root, "bpctl", "enroll", "--ttl", ttl.String())
	expired := time.Now().Add(ttl + time.Second) // the expiry of a token is in whole seconds
	used := ask(t, c.Front, cluster.Root, "bpctl", "enroll")
	if err := c.StartSlave(t.Context(), 0, "--join", used); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitUp(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if err := c.Slaves[0].Stop(t.Context()); err != nil {
		t.Error(err)
	}
	time.Sleep(time.Until(expired)) // by the daemon's clock, which is the real one
	for _, tc := range []struct {
		name, token string
		mentions    []string
	}{
		{"no token", "nonsense", []string{"token"}},
		{"expired", short, []string{"token", "expired"}},
		{"used before", used, []string{"token"}},
		{"of another cluster", otherToken(t), []string{"token"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			// A state directory of its own: the slave has no certificate there.
			res, err := c.Nodes[0].Exec(t.Context(), cluster.Root, "bpslave", "--state", "/run/"+tc.name, "--join", tc.token, "front")
			if err != nil {
				t.Fatal(err)
			}
			wantError(t, res, "bpslave", 77, append(tc.mentions, "bpctl enroll")...)
			cluster.Eventually(t, "PID 1 is alone", func() error {
				procs, err := c.Nodes[0].Procs()
				if err == nil && len(procs) != 1 {
					err = fmt.Errorf("on the node run %+v", procs)
				}
				return err
			})
		})
	}
}

// otherToken returns a valid token of another cluster.
func otherToken(t *testing.T) string {
	t.Helper()
	c := cluster.Start(t, cluster.Config{NoSlaves: true})
	return ask(t, c.Front, cluster.Root, "bpctl", "enroll")
}

// TestSecondMaster starts a second master beside the first.
func TestSecondMaster(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	res, err := c.Front.Exec(t.Context(), cluster.Root, "bpmaster", "--listen", ":0")
	if err != nil {
		t.Fatal(err)
	}
	if res.Code == 0 || !strings.Contains(res.Stderr, "/run/bproc/master.sock") {
		t.Errorf("got %+v, want the socket named and a failure", res)
	}
	if res := bpsh(t, c, cluster.Alice, "0", "echo", "works"); res.Stdout != "works\n" {
		t.Errorf("with the first master: got %+v", res)
	}
}

// TestGarbage sends garbage to the master's TCP port: only these connections end.
func TestGarbage(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	for _, text := range []string{"GET / HTTP/1.0\r\n\r\n", "\x16\x03\x01\xff\xff", strings.Repeat("\xff", 1<<16)} {
		conn, err := c.Nodes[0].Dial(t.Context(), "tcp", c.Front.Addr.String()+":2223")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write([]byte(text)); err != nil {
			continue // closed already, as wanted
		}
		if err := conn.SetReadDeadline(time.Now().Add(lineTimeout)); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 1024)
		for err == nil {
			_, err = conn.Read(b)
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("after %.10q the connection is still open", text)
		}
	}
	if res := bpsh(t, c, cluster.Alice, "all", "true"); res.Code != 0 {
		t.Errorf("after that: got %+v", res)
	}
}

// TestUnadoptedGhost starts the ghost's image without a request to adopt it: it must not stay.
func TestUnadoptedGhost(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	begin := time.Now()
	if _, err := c.Front.Exec(t.Context(), cluster.Alice, cluster.Prefix+"/lib/bproc/ghost", "orphan"); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took > ghost.AdoptTime*time.Second+lineTimeout {
		t.Errorf("it stayed for %v", took)
	}
}

// noErrors checks that no daemon has logged an error.
func noErrors(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	errs, err := c.Errors()
	if err != nil {
		t.Fatal(err)
	}
	if len(errs) > 0 {
		t.Errorf("%d errors were logged, such as\n%s", len(errs), strings.Join(errs[:min(len(errs), 5)], "\n"))
	}
}
