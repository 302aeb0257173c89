package cluster_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"bproc/test/cluster"
	"bproc/test/limit"
)

// A node of these tests goes down like its machine: the command of its daemon leaves a note, and
// the test acts on it.
const (
	nodeLogs  = cluster.StateDir + "/log"
	setUpFile = "/etc/bproc/node_up"
	goFile    = "/run/go"    // on the front end: the script goes on
	fixedFile = "/run/fixed" // on the front end: the script has no complaint
	wantsFile = "/run/wants" // on a node: the order to its daemon
	onFile    = "/run/on"    // on the front end: the node to switch on
)

const setUpScript = `#!/bin/sh
set -e
echo "node $1 is $NODE_NAME at $NODE_ADDR"
bpsh $1 echo root may
until test -e ` + goFile + `; do sleep 0.05; done
test -e ` + fixedFile + ` && exit
echo "no disk in node $1"
exit 3
`

// life is a cluster whose nodes are set up.
type life struct {
	*cluster.Cluster
	t *testing.T
}

// startLife starts a cluster without slaves.
func startLife(t *testing.T, nodes int) *life {
	t.Helper()
	down := func(action string) string { return "/run/down " + action }
	c := cluster.Start(t, cluster.Config{
		Nodes: nodes, NoSlaves: true, Limited: true,
		MasterConfig: fmt.Sprintf("setup %s\nlogs %s\nlease 3\npower-on /run/poweron %%n\n", setUpFile, nodeLogs),
		SlaveArgs:    []string{"--reboot", down("reboot"), "--halt", down("halt"), "--pwroff", down("pwroff")},
	})
	l := &life{Cluster: c, t: t}
	l.write(c.Front, setUpFile, setUpScript)
	l.write(c.Front, "/run/poweron", "#!/bin/sh\necho $1 >"+onFile+"\n")
	return l
}

func (l *life) write(m *cluster.Machine, name, text string) {
	l.t.Helper()
	if err := m.WriteFile(name, text, 0o755); err != nil {
		l.t.Fatal(err)
	}
}

// join makes a node join and connect for the first time.
func (l *life) join(i int) {
	l.t.Helper()
	token, err := l.Enroll(l.t.Context(), i)
	if err != nil {
		l.t.Fatal(err)
	}
	l.come(i, "--join", token)
}

// come starts the daemon of a node that was just booted.
func (l *life) come(i int, args ...string) {
	l.t.Helper()
	l.write(l.Nodes[i], "/run/down", "#!/bin/sh\necho $1 >"+wantsFile+"\n")
	if err := l.StartSlave(l.t.Context(), i, args...); err != nil {
		l.t.Fatal(err)
	}
}

// is waits for a state.
func (l *life) is(state string, i int) {
	l.t.Helper()
	if err := l.WaitState(l.t.Context(), state, i); err != nil {
		l.t.Fatal(err)
	}
}

// fails runs a command that must fail with a message on standard error.
func (l *life) fails(user cluster.User, stderr string, argv ...string) {
	l.t.Helper()
	res, err := l.Front.Exec(l.t.Context(), user, argv...)
	if err != nil {
		l.t.Fatal(err)
	}
	if res.Code == 0 || res.Stderr != stderr+"\n" {
		l.t.Errorf("%s: %v: exit code %d, %q, want %q", user.Name, argv, res.Code, res.Stderr, stderr)
	}
}

func (l *life) root(argv ...string) string {
	l.t.Helper()
	return ask(l.t, l.Front, cluster.Root, argv...)
}

// begin starts a command of root on the front end. The returned function waits for its end, which
// must be a success.
func (l *life) begin(argv ...string) (end func() string) {
	l.t.Helper()
	var out bytes.Buffer
	cmd := l.Front.Command(l.t.Context(), cluster.Root, argv...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	return func() string {
		l.t.Helper()
		if err := cmd.Wait(); err != nil {
			l.t.Errorf("%v: %v: %s", argv, err, &out)
		}
		return out.String()
	}
}

// said waits until a file of a machine has a text, and removes it.
func (l *life) said(m *cluster.Machine, name, text string) {
	l.t.Helper()
	cluster.Eventually(l.t, name+" says "+text, func() error {
		got, err := m.ReadFile(name)
		if err == nil && strings.TrimSpace(string(got)) != text {
			err = fmt.Errorf("it says %q", got)
		}
		return err
	})
	ask(l.t, m, cluster.Root, "rm", name)
}

// TestNodeLife sets a node up, first with a failure and then with success; drains it, reboots it,
// and switches it off and on. The node keeps its number.
func TestNodeLife(t *testing.T) {
	t.Parallel()
	l := startLife(t, 1)
	l.join(0)
	l.is("boot", 0)
	followed := l.follow("the set-up has failed")
	if got, want := l.root("bpstat", "0"), "boot"; !strings.Contains(got, want) || !strings.Contains(got, "---x------ root     root") {
		t.Errorf("bpstat says %q", got)
	}
	l.fails(cluster.Alice, "bpsh: node 0: permission denied: it is in state boot, and only root may start processes there", "bpsh", "0", "true")
	l.root("touch", goFile)
	l.is("error", 0)
	if log := followed(); !strings.Contains(log, "node 0 is n0 at 10.77.1.1\nroot may\nno disk in node 0\n") {
		t.Errorf("bpctl log -f says %q", log)
	}
	l.fails(cluster.Alice, "bpsh: node 0: permission denied: it is in state error, and only root may start processes there", "bpsh", "0", "true")
	l.root("bpsh", "0", "true")
	if got := ask(t, l.Front, cluster.Alice, "bpstat", "-l", "0"); !strings.HasSuffix(got, " set-up script /etc/bproc/node_up: exit status 3; see 'bpctl log 0'") {
		t.Errorf("bpstat -l says %q", got)
	}
	log := l.root("bpctl", "log", "0")
	if !strings.Contains(log, "\nno disk in node 0\n") || !strings.HasSuffix(log, "the set-up has failed: exit status 3") {
		t.Errorf("bpctl log says %q", log)
	}
	l.fails(cluster.Alice, "bpctl: node 0: permission denied: only root may read the logs of nodes", "bpctl", "log", "0")

	l.root("touch", fixedFile)
	l.root("bpctl", "-S", "0", "-s", "boot")
	l.is("up", 0)
	ask(t, l.Front, cluster.Alice, "bpsh", "0", "true")
	// Another daemon, and another master, do not set it up again.
	l.root("rm", goFile)
	l.slaveAgain()
	again(t, l.Cluster, true)
	l.is("up", 0)
	l.root("touch", goFile)

	l.drain()
	l.reboot()
	l.off()
	if got := l.root("bpsh", "0", "hostname"); got != "n0" {
		t.Errorf("node 0 is %s", got)
	}
}

// follow follows the log of node 0. The returned function returns it up to a line that has a text.
func (l *life) follow(text string) (read func() string) {
	l.t.Helper()
	ctx, cancel := context.WithCancel(l.t.Context())
	cmd := l.Front.Command(ctx, cluster.Root, "bpctl", "log", "-f", "0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		l.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	return func() string {
		l.t.Helper()
		var log strings.Builder
		for lines := bufio.NewScanner(out); lines.Scan() && !strings.Contains(lines.Text(), text); {
			log.WriteString(lines.Text() + "\n")
		}
		cancel()
		_ = cmd.Wait() // it was killed
		return log.String()
	}
}

// slaveAgain kills the daemon of node 0, and starts another one.
func (l *life) slaveAgain() {
	l.t.Helper()
	if err := l.Slaves[0].Kill(); err != nil {
		l.t.Fatal(err)
	}
	if err := l.StartSlave(l.t.Context(), 0); err != nil {
		l.t.Fatal(err)
	}
	ask(l.t, l.Front, cluster.Alice, "bpsh", "0", "true")
}

// drain makes node 0 accept no new processes; its processes go on and may fork.
func (l *life) drain() {
	l.t.Helper()
	in, write := pipe(l.t)
	r := startRemoteWith(l.t, l.Cluster, cluster.Alice, 0, in, "sh", "-c", "echo ready; read line; sh -c 'echo forked'; exit 7")
	in.Close()
	l.root("bpctl", "drain", "0")
	l.is("draining", 0)
	const why = "bpsh: node 0: it is drained: nothing new is started there until 'bpctl undrain'"
	l.fails(cluster.Alice, why, "bpsh", "0", "true")
	l.fails(cluster.Root, why, "bpsh", "0", "true")
	drained := l.begin("bpctl", "drain", "--wait", "0")
	if _, err := fmt.Fprintln(write, "go"); err != nil {
		l.t.Fatal(err)
	}
	r.expect("forked")
	if code := r.wait(); code != 7 {
		l.t.Errorf("exit code %d, want 7", code)
	}
	drained()
	l.is("drained", 0)
}

// reboot reboots node 0. It is still drained then, and set up.
func (l *life) reboot() {
	l.t.Helper()
	done := l.begin("bpctl", "-S", "0", "-R")
	l.said(l.Nodes[0], wantsFile, "reboot")
	if err := l.Slaves[0].Stop(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
	if err := l.Nodes[0].Reboot(); err != nil {
		l.t.Fatal(err)
	}
	l.come(0)
	done()
	l.is("drained", 0)
	l.root("bpctl", "undrain", "0")
	l.is("up", 0)
	if log := l.root("bpctl", "log", "0"); strings.Count(log, "node 0 is n0") != 3 {
		l.t.Errorf("it was not set up three times: %s", log)
	}
}

// off switches node 0 off, and on again; its processes end.
func (l *life) off() {
	l.t.Helper()
	r := startRemote(l.t, l.Cluster, cluster.Alice, 0, "sh", "-c", "echo ready; exec sleep 1000")
	done := l.begin("bpctl", "-S", "0", "-P")
	l.said(l.Nodes[0], wantsFile, "pwroff")
	if code := r.wait(); code != 255 { // it was not killed alone
		l.t.Errorf("exit code %d, want 255", code)
	}
	l.fails(cluster.Root, "bpsh: node 0: it is in state pwroff", "bpsh", "0", "true")
	if err := l.Slaves[0].Stop(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
	if err := l.Nodes[0].Off(); err != nil {
		l.t.Fatal(err)
	}
	done()
	l.is("down", 0)
	l.fails(cluster.Root, "bpctl: node 0: it is down: nobody is there to reboot", "bpctl", "-S", "0", "-R")
	done = l.begin("bpctl", "-S", "0", "--poweron")
	l.said(l.Front, onFile, "0")
	if err := l.Nodes[0].Boot(); err != nil {
		l.t.Fatal(err)
	}
	l.come(0)
	done()
	l.is("up", 0)
	l.fails(cluster.Root, "bpctl: node 0: it is on: it is connected", "bpctl", "-S", "0", "--poweron")
}

// TestNodeVanishesInBoot checks that the script of a vanished node ends, and that the node is set
// up when it comes again.
func TestNodeVanishesInBoot(t *testing.T) {
	t.Parallel()
	l := startLife(t, 1)
	l.root("touch", fixedFile)
	l.join(0)
	l.is("boot", 0)
	cluster.Eventually(t, "the script runs", func() error { return l.hasScripts(1) })
	if err := l.Nodes[0].Off(); err != nil {
		t.Fatal(err)
	}
	l.is("down", 0)
	cluster.Eventually(t, "the script has ended", func() error { return l.hasScripts(0) })
	cluster.Eventually(t, "the log says why it ended", func() error {
		if log := l.root("bpctl", "log", "0"); !strings.HasSuffix(log, "the set-up has failed: it is not wanted any more: the node has gone, or was set to another state") {
			return fmt.Errorf("it says %q", log)
		}
		return nil
	})
	if err := l.Nodes[0].Boot(); err != nil {
		t.Fatal(err)
	}
	l.come(0)
	l.is("boot", 0)
	// A killed master takes its script with it; the next one begins anew.
	cluster.Eventually(t, "the script runs", func() error { return l.hasScripts(1) })
	again(t, l.Cluster, true)
	l.is("boot", 0)
	cluster.Eventually(t, "the script runs once", func() error { return l.hasScripts(1) })
	l.root("touch", goFile)
	l.is("up", 0)
}

// hasScripts returns an error if another number of scripts run.
func (l *life) hasScripts(want int) error {
	procs, err := l.Front.Procs()
	if err != nil {
		return err
	}
	have := 0
	for _, p := range procs {
		if len(p.Args) > 1 && p.Args[1] == setUpFile {
			have++
		}
	}
	if have != want {
		return fmt.Errorf("%d scripts run", have)
	}
	return nil
}

// TestSetUpBadly checks that an error of a script is reported in one line.
func TestSetUpBadly(t *testing.T) {
	t.Parallel()
	l := startLife(t, 1)
	l.root("chmod", "-x", setUpFile)
	l.join(0)
	l.is("error", 0)
	expect := func(want string) {
		t.Helper()
		if log := l.root("bpctl", "log", "0"); !strings.HasSuffix(log, want) {
			t.Errorf("the log says %q, want %q", log, want)
		}
	}
	expect("the set-up has failed: it cannot be executed (permission denied): make it executable with 'chmod +x'")
	if err := logged(l.Cluster, "front/log/bpmaster.log", "a node is not set up"); err != nil {
		t.Error(err)
	}
	l.write(l.Front, setUpFile, "#!/bin/sh\nexit 0\n")
	l.root("chmod", "+x", setUpFile)
	l.root("bpctl", "-S", "0", "-s", "boot")
	l.is("up", 0)
	// The command that takes it down fails.
	l.write(l.Nodes[0], "/run/down", "#!/bin/sh\necho it is in use; exit 2\n")
	l.fails(cluster.Root, "bpctl: node 0: it is in state error: /run/down halt: exit status 2: it is in use", "bpctl", "-S", "0", "-H")
	l.fails(cluster.Alice, "bpctl: node 0: permission denied: only root may change nodes, and the owner of one its mode and group", "bpctl", "-S", "0", "-H")
	l.fails(cluster.Root, "bpctl: option -s, --state: no such state: hlat; is halt meant?", "bpctl", "-S", "0", "-s", "hlat")
	l.fails(cluster.Root, `bpctl: node 0: "No!" is no state: a state is a word of at most 15 of a-z, 0-9, - and _`, "bpctl", "-S", "0", "-s", "No!")
	ctx, cancel := context.WithTimeout(t.Context(), limit.Scaled(time.Minute))
	defer cancel()
	if _, err := l.Front.Exec(ctx, cluster.Root, "bpctl", "-S", "0", "-s", "up"); err != nil {
		t.Fatal(err)
	}
	ask(t, l.Front, cluster.Alice, "bpsh", "0", "true")
	if _, err := l.Nodes[0].ReadFile(wantsFile); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the node was told something else: %v", err)
	}
}
