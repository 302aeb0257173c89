package fakemaster

import (
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// split returns a Run for each process of a RunMany.
func split(m *wire.RunMany) (runs []*wire.Run) {
	for _, one := range m.Runs {
		run := &wire.Run{
			Version: m.Version, Node: one.Node, Ghost: one.Ghost, HangUp: m.HangUp, Command: m.Command, Launch: one.Launch,
			Report: m.Report, Ends: m.Ends,
		}
		run.Command.Env = slices.Concat(run.Command.Env, one.Env)
		runs = append(runs, run)
	}
	return runs
}

// serveMany gives each process a connection, and calls handle with it and a Run.
func (m *Master) serveMany(t testing.TB, conn *net.UnixConn, request *wire.RunMany, count int, handle Handler) {
	conns, err := handOver(conn, count, count)
	if err != nil {
		t.Errorf("connections for %d processes: %v", count, err)
		return
	}
	conn.Close()
	var serving sync.WaitGroup
	for i, run := range split(request)[:count] {
		serving.Go(func() { m.answer(t, conns[i], wire.NewReader(conns[i]), run, handle) })
	}
	serving.Wait()
}

// Many gives the first processes of a request connections, which are served as if each had been asked for there.
func (c *Conn) Many(m *wire.RunMany, count int) { c.m.serveMany(c.t, c.conn, m, count, c.m.handle) }

// ManyBut gives all processes of a request connections, but loses one.
func (c *Conn) ManyBut(m *wire.RunMany) {
	conns, err := handOver(c.conn, len(m.Runs)-1, len(m.Runs))
	if err != nil {
		c.t.Errorf("connections for processes: %v", err)
	}
	for _, conn := range conns {
		conn.Close()
	}
}

// handOver gives a client count connections, tells it that there are so many as told, and returns the other ends.
func handOver(conn *net.UnixConn, count, told int) (conns []*net.UnixConn, err error) {
	var theirs []int
	defer func() {
		for _, fd := range theirs {
			unix.Close(fd)
		}
	}()
	for range count {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return nil, fmt.Errorf("socketpair: %w", err)
		}
		theirs = append(theirs, fds[1])
		ours := os.NewFile(uintptr(fds[0]), "")
		c, err := net.FileConn(ours)
		ours.Close()
		if err != nil {
			return nil, err
		}
		conns = append(conns, c.(*net.UnixConn))
	}
	frame, err := wire.Append(nil, 0, &wire.Connections{Count: uint32(told)})
	if err == nil {
		var rights []byte
		if count > 0 {
			rights = unix.UnixRights(theirs...)
		}
		_, _, err = conn.WriteMsgUnix(frame, rights, nil)
	}
	return conns, err
}
