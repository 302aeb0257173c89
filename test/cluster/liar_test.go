package cluster_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
	"bproc/wire"
)

// liarVariable makes this binary a client that lies about itself, as the user with the number in
// the variable: its arguments are a node and a command.
const liarVariable = "BPROCTEST_LIAR"

// liar asks for a process with limits, a nice value and a umask that it does not have, and passes
// on its output.
func liar(args []string) error {
	node, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	id, err := strconv.Atoi(os.Getenv(liarVariable)) // group and user of a test user have the same
	if err != nil {
		return err
	}
	if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(id), syscall.Setuid(id)); err != nil {
		return err
	}
	ghost, err := syscall.ForkExec(cluster.Prefix+"/lib/bproc/ghost", args[1:], &syscall.ProcAttr{Dir: "/"})
	if err != nil {
		return err
	}
	run := &wire.Run{
		Version: wire.Version, Node: wire.NodeID(node), Ghost: wire.PID(ghost), Launch: 1,
		Command: wire.Command{Argv: args[1:], Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: "/", Umask: 0o123, Nice: -15},
	}
	run.Command.Stdio[1].Mode = wire.DescriptorStream
	for resource, limit := range map[uint8]uint64{unix.RLIMIT_RTPRIO: 99, unix.RLIMIT_NICE: 40, unix.RLIMIT_NPROC: 1 << 30, unix.RLIMIT_MEMLOCK: 1 << 40} {
		run.Command.Limits = append(run.Command.Limits, wire.Limit{Resource: resource, Soft: limit, Hard: limit})
	}
	conn, err := askMaster(run)
	if err != nil {
		return err
	}
	if err := hearOutput(conn); err != nil {
		return err
	}
	var status unix.WaitStatus
	_, err = unix.Wait4(ghost, &status, 0, nil)
	return err
}

// askMaster makes a request; with nil it only connects.
func askMaster(m wire.Message) (*net.UnixConn, error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: "/run/bproc/master.sock", Net: "unix"})
	if err != nil || m == nil {
		return conn, err
	}
	return conn, wire.Write(conn, 0, m)
}

// hearOutput waits for the start of a process and copies its output to standard output.
func hearOutput(conn *net.UnixConn) error {
	defer conn.Close()
	reader := wire.NewReader(conn)
	if m, _, err := reader.Read(); err != nil || m.Type() != wire.TypeStarted {
		return fmt.Errorf("answer %+v: %w", m, err)
	}
	for {
		h, data, err := reader.Next()
		switch {
		case err != nil:
			return err
		case h.Type == wire.TypeStdout && len(data) == 0:
			return nil
		case h.Type == wire.TypeStdout:
			if _, err := os.Stdout.Write(data); err != nil {
				return err
			}
		}
	}
}

// TestLiar has special clients send false limits and nice values. A process gets those of its ghost
// in any case.
func TestLiar(t *testing.T) {
	t.Parallel()
	const script = "umask; nice; cat /proc/$$/limits; chrt -f 99 true && echo real time; nice -n -15 true 2>&1; id -G"
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range users {
		t.Run(user.Name, func(t *testing.T) {
			honest := bpsh(t, c, user, "1", "sh", "-c", script)
			cmd := c.Front.Command(t.Context(), cluster.Root, self, "1", "sh", "-c", script)
			cmd.Env = append(cmd.Env, fmt.Sprint(liarVariable, "=", user.UID))
			lies, err := cmd.Result()
			if err != nil || lies.Code != 0 {
				t.Fatalf("got %+v, %v", lies, err)
			}
			if lies.Stdout != honest.Stdout || lies.Stdout == "" {
				t.Errorf("got %s; want as everybody has it: %s", lies.Stdout, honest.Stdout)
			}
			if user != cluster.Root && strings.Contains(lies.Stdout, "real time") {
				t.Error("an ordinary user has real-time priority")
			}
		})
	}
}
