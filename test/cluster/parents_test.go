package cluster_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/slave/pid1/standin"
	"bproc/test/cluster"
)

// ready reads the line with which a program reports its number.
func (v *conversation) ready() int {
	v.t.Helper()
	line, _ := v.line()
	match := readyLine.FindStringSubmatch(line)
	if match == nil {
		v.t.Fatalf("got %q, want ready", line)
	}
	pid, err := strconv.Atoi(match[1])
	if err != nil {
		v.t.Fatal(err)
	}
	return pid
}

// TestParentEnds ends the parent of a process that was started from the front end: the process gets
// the signal that it has asked for, and init as its parent.
func TestParentEnds(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	for _, at := range []place{native, onNode} {
		t.Run(at.name, func(t *testing.T) {
			wantIdle(t, c)
			log := filepath.Join(scratch(t), "log")
			if err := os.WriteFile(log, nil, 0o666); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(log, 0o666); err != nil {
				t.Fatal(err)
			}
			v := converse(t, c, cluster.Alice, at, conform(t, "heir"), log)
			pid := v.ready()
			if err := v.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprintf("got %d, parent 1\n", unix.SIGUSR1)
			cluster.Eventually(t, "the process says what it has got", func() error {
				text, err := os.ReadFile(log)
				if err == nil && string(text) != want {
					err = fmt.Errorf("got %q, want %q", text, want)
				}
				return err
			})
			gone(t, c.Front, pid)
		})
	}
}

// gone waits until a process has ended.
func gone(t *testing.T, m *cluster.Machine, pid int) {
	t.Helper()
	cluster.Eventually(t, "the process has ended", func() error {
		if _, err := m.Proc(pid); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("process %d is there: %w", pid, err)
		}
		return nil
	})
}

// TestOwnGroupStops has a process that was started from the front end make a group of its own
// there: as its parent is in the same session, the stop signals of a terminal stop it.
func TestOwnGroupStops(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	bothPlaces(t, c, func(t *testing.T, at place) []string {
		v := converse(t, c, cluster.Alice, at, conform(t, "heir"), "stop")
		if line, _ := v.line(); line != "setpgid 0" {
			t.Fatalf("got %q, want setpgid 0", line)
		}
		pid := v.ready()
		cluster.Eventually(t, "it is stopped", func() error {
			p, err := c.Front.Proc(pid)
			if err == nil && (!stopped(p.State) || p.PGID != pid) {
				err = fmt.Errorf("it is %+v", p)
			}
			return err
		})
		if err := c.Front.Kill(pid, unix.SIGCONT); err != nil {
			t.Fatal(err)
		}
		return v.rest()
	})
}

// TestGroupOfRunners ends a group whose members change too fast to observe by a single kill on the
// front end: no process escapes by being born at that moment.
func TestGroupOfRunners(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	for _, at := range []place{native, onNode} {
		t.Run(at.name, func(t *testing.T) {
			wantIdle(t, c)
			for range 5 {
				v := converse(t, c, cluster.Alice, at, conform(t, "runners"))
				group := v.ready()
				cluster.Eventually(t, "they run", func() error { return moreThan(c, group, 3) })
				if err := c.Front.Kill(-group, unix.SIGKILL); err != nil {
					t.Fatal(err)
				}
				cluster.Eventually(t, "all are dead", func() error { return noneOf(c, group) })
				v.rest()
			}
		})
	}
}

// members returns how many processes of a group a machine has; on a node, by the numbers of the
// process space, without the stand-ins.
func members(m *cluster.Machine, group int) (int, error) {
	all, err := m.Procs()
	n := 0
	for _, p := range all {
		if p.State != "Z" && p.Comm != standin.Name && (p.PGID == group || p.SpacePGID == group) {
			n++
		}
	}
	return n, err
}

// moreThan returns an error unless the front end or the node shows more than n members of a group.
func moreThan(c *cluster.Cluster, group, n int) error {
	for _, m := range []*cluster.Machine{c.Front, c.Nodes[1]} {
		if found, err := members(m, group); err != nil || found > n {
			return err
		}
	}
	return errors.New("there are fewer")
}

func noneOf(c *cluster.Cluster, group int) error {
	for _, m := range []*cluster.Machine{c.Front, c.Nodes[1]} {
		n, err := members(m, group)
		if err == nil && n > 0 {
			err = fmt.Errorf("%s has %d of the group", m.Name, n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
