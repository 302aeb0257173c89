package cluster_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
	"bproc/test/cluster/liars"
	"bproc/wire"
)

// flooderVariable makes this binary a client that makes many requests to a master, as the user with
// the number in the variable. Its argument is the kind.
const flooderVariable = "BPROCTEST_FLOODER"

// hostileClientAttacks are attacks by clients that speak the protocol themselves.
var hostileClientAttacks = map[string]func() error{
	"silence": func() error {
		return eachOf(1000, func(int) (*net.UnixConn, error) { return askMaster(nil) })
	},
	"large commands": func() error {
		long := make([]byte, 1<<20)
		return eachOf(100, func(i int) (*net.UnixConn, error) {
			m := &wire.Run{Version: wire.Version, Ghost: wire.PID(os.Getpid()), Launch: uint64(i) + 1, Command: wire.Command{Argv: []string{string(long), string(long), string(long)}}}
			if i%2 == 0 {
				m.Command = wire.Command{Argv: make([]string, 140_000)}
			}
			return askMaster(m)
		})
	},
	"halves of commands": func() error {
		half := make([]byte, 2<<20)
		wire.Header{Type: wire.TypeRun, Length: wire.MaxCommand}.Put(half)
		return eachOf(200, func(int) (*net.UnixConn, error) {
			conn, err := askMaster(nil)
			if err == nil {
				_ = conn.SetWriteDeadline(time.Now().Add(20 * time.Millisecond))
				_, _ = conn.Write(half) // the master may not read
			}
			return conn, err
		})
	},
	"garbage": func() error {
		return eachOf(500, func(i int) (*net.UnixConn, error) {
			conn, err := askMaster(nil)
			if err == nil {
				_, _ = conn.Write(wire.AppendData(nil, wire.Type(i%160), 1, []byte("\xdd\x0f\xff\xff\xff"))) // it may be closed
			}
			return conn, err
		})
	},
	"other messages": func() error {
		all := []wire.Message{
			new(wire.Events), new(wire.Inventory), new(wire.Spawn), new(wire.Resume), new(wire.KillAll), new(wire.Viewer), new(wire.Show), new(wire.Fetch),
			new(wire.GhostHello), new(wire.GhostExit), new(wire.InitKillAll), new(wire.Hello), new(wire.JoinRequest), new(wire.Refused),
			&wire.Enroll{Version: wire.Version}, &wire.Revoke{Version: wire.Version}, &wire.SetNodes{Version: wire.Version}, &wire.Run{Version: 1 << 15},
		}
		return eachOf(5*len(all), func(i int) (*net.UnixConn, error) { return askMaster(all[i%len(all)]) })
	},
	"looks": func() error {
		return eachOf(64, func(i int) (*net.UnixConn, error) {
			conn, err := askMaster(&wire.Look{Version: wire.Version, Node: []wire.NodeID{0, wire.FrontEnd}[i%2]})
			for n := range uint64(20) {
				if err == nil && wire.Write(conn, n, new(wire.Refresh)) != nil {
					break // it was refused
				}
			}
			return conn, err
		})
	},
	"births": func() error {
		return eachOf(200, func(int) (*net.UnixConn, error) {
			return askMaster(&wire.Births{Version: wire.Version, After: 1 << 63})
		})
	},
	"bypasses of others": func() error {
		all, err := filepath.Glob("/proc/[1-9]*")
		if err != nil {
			return err
		}
		return eachOf(200, func(i int) (*net.UnixConn, error) {
			pid, err := strconv.Atoi(filepath.Base(all[i%len(all)]))
			if err != nil {
				return nil, err
			}
			conn, err := askMaster(&wire.Bypass{Version: wire.Version, Node: []wire.NodeID{0, wire.FrontEnd, 77}[i%3], PID: wire.PID(pid), Launch: uint64(i % 2)})
			if err != nil {
				return nil, err
			}
			_ = conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond)) // the answer may come later
			if m, _, err := wire.NewReader(conn).Read(); err == nil && m.Type() != wire.TypeFailed && m.Type() != wire.TypeRefused {
				return conn, fmt.Errorf("a bypass of %d is answered by %T", pid, m)
			}
			return conn, nil
		})
	},
	"others' ghosts": func() error {
		return eachOf(200, func(i int) (*net.UnixConn, error) {
			if i%2 == 0 {
				return askMaster(&wire.Attach{Version: wire.Version, Ghost: wire.PID(i), Launch: 1, Output: [2]uint64{1 << 63, 1 << 63}})
			}
			return askMaster(&wire.Run{Version: wire.Version, Ghost: wire.PID(i), Launch: 1, Again: true, Command: wire.Command{Argv: []string{"true"}}})
		})
	},
}

// flooder runs the attack in its argument.
func flooder(args []string) error {
	id, err := strconv.Atoi(os.Getenv(flooderVariable)) // group and user of a test user have the same
	if err != nil {
		return err
	}
	if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(id), syscall.Setuid(id)); err != nil {
		return err
	}
	return hostileClientAttacks[args[0]]()
}

// eachOf makes a number of connections, or as many as possible in the time of a flood. All stay
// open for a moment.
func eachOf(count int, ask func(i int) (*net.UnixConn, error)) error {
	var conns []*net.UnixConn
	end := time.Now().Add(floodTime)
	for i := 0; i < count && time.Now().Before(end); i++ {
		conn, err := ask(i)
		switch {
		case errors.Is(err, unix.EPIPE), errors.Is(err, unix.ECONNRESET), errors.Is(err, unix.EAGAIN): // there are too many
		case err != nil:
			return err
		default:
			conns = append(conns, conn)
		}
	}
	time.Sleep(500 * time.Millisecond) // meanwhile all are open
	for _, conn := range conns {
		conn.Close()
	}
	return nil
}

// TestHostileClients has clients of Alice's attack the master. After each attack the cluster works
// for other users as before, and its daemons' memory has not grown.
func TestHostileClients(t *testing.T) {
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := newWitness(t, c)
	attack := func(name string, do func(t *testing.T)) {
		t.Run(name, func(t *testing.T) {
			w.t, w.r.t = t, t
			do(t)
			w.asBefore()
		})
	}
	for name := range hostileClientAttacks {
		attack(name, func(t *testing.T) {
			cmd := c.Front.Command(t.Context(), cluster.Root, self, name)
			cmd.Env = append(cmd.Env, fmt.Sprint(flooderVariable, "=", cluster.Alice.UID))
			res, err := cmd.Result()
			if err != nil || res.Code != 0 {
				t.Fatalf("got %+v, %v", res, err)
			}
		})
	}
	for _, kind := range liars.Kinds {
		attack(kind, func(t *testing.T) {
			var ends []func()
			for range 3 {
				ends = append(ends, startLiar(t, c, kind))
			}
			w.fine()
			for _, end := range ends {
				end()
			}
		})
	}
	w.t, w.r.t = t, t
	w.end()
}
