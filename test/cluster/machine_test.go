package cluster_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
	"bproc/test/limit"
)

// ask runs a command that must succeed, and returns its output.
func ask(t *testing.T, m *cluster.Machine, user cluster.User, argv ...string) string {
	t.Helper()
	res, err := m.Exec(t.Context(), user, argv...)
	if err != nil {
		t.Fatal(err)
	}
	if res.Code != 0 {
		t.Fatalf("%s: %v: exit code %d: %s", m.Name, argv, res.Code, res.Stderr)
	}
	return strings.TrimSpace(res.Stdout)
}

func TestMachines(t *testing.T) {
	start := time.Now()
	c := cluster.Start(t, cluster.Config{Nodes: 4, Bare: true})
	t.Logf("started in %v", time.Since(start))

	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		on   *cluster.Machine
		user cluster.User
		argv []string
		want string
	}{
		{"host name of the front end", c.Front, cluster.Root, []string{"hostname"}, "front"},
		{"host name of a node", c.Nodes[3], cluster.Root, []string{"hostname"}, "n3"},
		{"PID 1", c.Nodes[0], cluster.Root, []string{"sh", "-c", "tr '\\0' '\\n' </proc/1/cmdline"}, "bproctest-machine"},
		{"ordinary user", c.Nodes[1], cluster.Alice, []string{"id", "-un"}, "alice"},
		{"other ordinary user", c.Front, cluster.Bob, []string{"id", "-gn"}, "bob"},
		{"no supplementary groups", c.Front, cluster.Bob, []string{"id", "-G"}, "12346"},
		{"name service", c.Nodes[2], cluster.Root, []string{"getent", "ahostsv4", "n1"}, "10.77.1.2       STREAM n1\n10.77.1.2       DGRAM  \n10.77.1.2       RAW"},
		{"its own /run", c.Front, cluster.Root, []string{"ls", "-A", "/run"}, ""},
		{"its own network", c.Front, cluster.Root, []string{"sh", "-c", "ip -o link | wc -l"}, "2"},
		{"its own session", c.Front, cluster.Root, []string{"sh", "-c", "ps -o sid= -p $$ | tr -d ' '; kill 0"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.name == "its own session" {
				res, err := tc.on.Exec(t.Context(), tc.user, tc.argv...)
				if err != nil || res.Signal != unix.SIGTERM {
					t.Fatalf("got %+v, %v, want killed by SIGTERM", res, err)
				}
				return
			}
			if got := ask(t, tc.on, tc.user, tc.argv...); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	if now, err := os.Hostname(); err != nil || now != host {
		t.Errorf("the host's name is %q now, %v; want %q", now, err, host)
	}
}

// TestMachineGroups checks that a machine has control groups of its own, in each hierarchy. A
// command is in the top group that it sees. In version 2 it is in a group for processes, as with
// systemd, because a group with processes cannot give controllers to its children.
func TestMachineGroups(t *testing.T) {
	c := cluster.Start(t, cluster.Config{Bare: true})
	for _, line := range strings.Split(ask(t, c.Front, cluster.Alice, "cat", "/proc/self/cgroup"), "\n") {
		want := "/"
		if strings.HasPrefix(line, "0::") {
			want = "/machine"
		}
		if fields := strings.SplitN(line, ":", 3); len(fields) != 3 || fields[2] != want {
			t.Errorf("a command is in %q, want %s", line, want)
		}
	}
}

// TestMachineThreadedGroups switches off a machine with a process in a threaded control group,
// whose list of processes cannot be read.
func TestMachineThreadedGroups(t *testing.T) {
	c := cluster.Start(t, cluster.Config{Bare: true})
	ask(t, c.Front, cluster.Root, "sh", "-ec", `
		top=$(findmnt -n -o TARGET -t cgroup2 | head -n 1)
		test "$top" || exit 0 # the host has version 1 alone
		group=$top$(sed -n s/^0:://p /proc/self/cgroup)/threaded
		mkdir $group
		echo threaded >$group/cgroup.type
		echo $$ >$group/cgroup.procs
		if cat $group/cgroup.procs 2>/dev/null; then exit 1; fi
		sleep 1000 >/dev/null 2>&1 &`)
	if err := c.Front.Off(); err != nil {
		t.Error(err)
	}
}

// TestMachineWritesStay checks that a machine's writes to its system directories affect neither the
// host nor another machine.
func TestMachineWritesStay(t *testing.T) {
	c := cluster.Start(t, cluster.Config{Nodes: 2, Bare: true})
	for _, dir := range []string{"/etc", "/opt", "/var/lib", "/run", "/dev/shm", cluster.StateDir} {
		file := dir + "/written-by-a-machine"
		ask(t, c.Nodes[0], cluster.Root, "touch", file)
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the host has %s: %v", file, err)
		}
		if _, err := c.Nodes[1].ReadFile(file); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s has %s: %v", c.Nodes[1].Name, file, err)
		}
		if _, err := c.Nodes[0].ReadFile(file); err != nil {
			t.Error(err)
		}
	}
	if err := c.Nodes[0].Reboot(); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, c.Nodes[0], cluster.Root, "find", "/etc", "/run", "/var/lib", "-name", "written-by-a-machine"); got != cluster.StateDir+"/written-by-a-machine" {
		t.Errorf("after a reboot there is %q, want the file in %s alone", got, cluster.StateDir)
	}
}

func TestMachineOff(t *testing.T) {
	c := cluster.Start(t, cluster.Config{Nodes: 1, Bare: true})
	n := c.Nodes[0]
	sleep := n.Command(t.Context(), cluster.Alice, "sleep", "1000")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	if err := n.Off(); err != nil {
		t.Fatal(err)
	}
	if err := sleep.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("a command on a machine that went off: got %v, want killed", err)
	}
	if _, err := n.Exec(t.Context(), cluster.Root, "true"); !errors.Is(err, cluster.ErrOff) {
		t.Errorf("a command after that: got %v, want %v", err, cluster.ErrOff)
	}
	if err := n.Boot(); err != nil {
		t.Fatal(err)
	}
	ask(t, n, cluster.Root, "true")
}

func TestMachineSignals(t *testing.T) {
	c := cluster.Start(t, cluster.Config{Bare: true})
	cmd := c.Front.Command(t.Context(), cluster.Root, "sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid, err := cmd.PID()
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Front.Proc(pid)
	if err != nil || p.Comm != "sleep" || len(p.Args) != 2 {
		t.Errorf("got %+v, %v, want sleep", p, err)
	}
	if err := c.Front.Queue(pid, unix.SIGUSR1, 7); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || err.Error() != "signal: user defined signal 1" {
		t.Errorf("got %v, want ended by SIGUSR1", err)
	}
	if err := c.Front.Kill(pid, unix.SIGUSR1); !errors.Is(err, unix.ESRCH) {
		t.Errorf("a signal to a process that is gone: got %v, want %v", err, unix.ESRCH)
	}
	if _, err := c.Front.Proc(pid); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a process that is gone: got %v, want %v", err, fs.ErrNotExist)
	}
}

func TestLink(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 2, Bare: true})
	l, err := c.Nodes[1].Listen(t.Context(), "tcp", ":7")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := c.Front.Dial(t.Context(), "tcp", c.Nodes[1].Addr.String()+":7")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	peer, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()

	if err := c.Cut(1); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1)
	if err := peer.SetReadDeadline(time.Now().Add(300 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := peer.Read(b); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("over a cut link: got %q, %v, want %v", b, err, os.ErrDeadlineExceeded)
	}
	if err := c.Heal(1); err != nil {
		t.Fatal(err)
	}
	if err := peer.SetReadDeadline(time.Now().Add(limit.Scaled(20 * time.Second))); err != nil {
		t.Fatal(err)
	}
	if _, err := peer.Read(b); err != nil || b[0] != 'x' {
		t.Errorf("over the healed link: got %q, %v, want x", b, err)
	}
}

// BenchmarkCommand measures the start of a command in a machine.
func BenchmarkCommand(b *testing.B) {
	c := cluster.Start(b, cluster.Config{Bare: true})
	for b.Loop() {
		if err := c.Front.Command(context.Background(), cluster.Root, "true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}
