package master

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bproc/master/core"
	"bproc/wire"
)

// many is a request for several processes. Each becomes a clientConn of its own, as if its client had connected for it.
//
// A member holds two of its user's seats while both ends of its connection are open here. It holds one until its
// process is over and the client has received its end: a descriptor on its way counts as the master's.
type many struct {
	c       *clientConn
	kin     kin
	members []*member
	taken   chan struct{} // closed when nothing is on its way to the client
}

type member struct {
	of     *many
	conn   *clientConn
	client int // descriptor of the client's end
	launch *launch
	leave  func() // takes conn's number back
}

// runMany starts a command on several nodes. Nothing is begun before the client's ends are on their way.
func (c *clientConn) runMany(ctx context.Context, m *wire.RunMany) error {
	conn, ok := c.conn.(*net.UnixConn)
	if !ok {
		return c.failed(wire.StageRequest, unix.EOPNOTSUPP, "only clients of the front end start many processes at a time")
	}
	if err := checkMany(m); err != nil {
		return c.failed(wire.StageRequest, errnoOf(err), err.Error())
	}
	leave, err := c.seat()
	if leave == nil {
		return err
	}
	defer leave()
	memory := make([]int, len(m.Runs))
	for i, one := range m.Runs { // each is sent to its node, with all of it
		memory[i] = memoryFor(&m.Command, one.Env)
	}
	releases, err := c.admitLaunch(ctx, memory...)
	if err != nil {
		return err
	}
	all := &many{c: c, taken: make(chan struct{})}
	for i, release := range releases {
		if len(all.members) < i || !all.add(release) {
			release()
		}
	}
	if len(all.members) == 0 {
		return c.failed(wire.StageRequest, unix.EMFILE, "the master has no room for a connection")
	}
	inputs := all.runs(m)
	m.Command, m.Runs = wire.Command{}, nil // processes may run for months
	if err = all.handOver(conn); err == nil {
		err = c.m.state.stepAll(ctx, inputs)
	}
	var running sync.WaitGroup
	for _, member := range all.members {
		running.Go(func() { member.run(ctx, err) })
	}
	if err == nil {
		awaitTaken(ctx, conn)
	}
	c.conn.Close()
	close(all.taken)
	running.Wait()
	return err
}

// checkMany also bounds what the master makes of a request, which is an environment for each process.
func checkMany(m *wire.RunMany) error {
	if len(m.Runs) < 2 || len(m.Runs) > wire.MaxRuns {
		return fmt.Errorf("%d processes in one request, 2 to %d are allowed: %w", len(m.Runs), wire.MaxRuns, unix.EINVAL)
	}
	if err := checkCommand(&m.Command); err != nil {
		return fmt.Errorf("%w: %w", err, unix.EINVAL)
	}
	words := (len(m.Command.Argv) + len(m.Command.Env)) * len(m.Runs)
	for _, one := range m.Runs {
		if one.Launch == 0 {
			return fmt.Errorf("a launch without a number: %w", unix.EINVAL)
		}
		words += len(one.Env)
	}
	if words > maxArguments {
		return fmt.Errorf("%d arguments and variables in all, at most %d are allowed: %w", words, maxArguments, unix.E2BIG)
	}
	return nil
}

// add adds a member, and reports whether there was a seat for it. release gives the member's room back.
func (a *many) add(release func()) bool {
	seats, payer := a.c.m.seats.shares, a.c.payer()
	if !seats.Take(payer, 2) {
		return false
	}
	conn, client, err := connected()
	if err != nil {
		seats.Leave(payer, 2)
		a.c.log.Debug("a connection for a client could not be made", "err", err)
		return false
	}
	c := &clientConn{m: a.c.m, log: a.c.log, conn: conn, who: a.c.who, ends: a.c.ends, spoken: func() {}, settled: release, steps: make(chan step, maxSteps)}
	a.members = append(a.members, &member{of: a, conn: c, client: client, leave: a.c.m.state.enterClient(c)})
	return true
}

// connected returns both ends of a connection, the client's as a descriptor.
func connected() (*net.UnixConn, int, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, -1, fmt.Errorf("socketpair: %w", err)
	}
	here := os.NewFile(uintptr(fds[0]), "connection of a client")
	defer here.Close()
	conn, err := net.FileConn(here)
	if err != nil {
		return nil, -1, errors.Join(err, unix.Close(fds[1]))
	}
	return conn.(*net.UnixConn), fds[1], nil
}

// runs returns the inputs for the core.
func (a *many) runs(m *wire.RunMany) []core.Input {
	limit, _ := a.c.m.kernel.limit(a.c.who.PID) // 0: it has just ended
	inputs := make([]core.Input, len(a.members))
	for i, member := range a.members {
		one, command := m.Runs[i], m.Command
		if len(one.Env) > 0 {
			command.Env = slices.Concat(command.Env, one.Env)
		}
		run := &wire.Run{Node: one.Node, Ghost: one.Ghost, HangUp: m.HangUp, Command: command, Launch: one.Launch, Report: m.Report, Ends: m.Ends}
		member.conn.wantsEnded(m.Report)
		member.launch = member.conn.newLaunch(run)
		member.launch.kin = &a.kin
		inputs[i] = member.conn.runInput(run, limit)
	}
	return inputs
}

// handOver gives the client its ends of the connections.
func (a *many) handOver(conn *net.UnixConn) error {
	fds := make([]int, len(a.members))
	for i, member := range a.members {
		fds[i] = member.client
	}
	frame, err := wire.Append(nil, 0, &wire.Connections{Count: uint32(len(fds))})
	if err == nil {
		err = conn.SetWriteDeadline(time.Now().Add(replyTime))
	}
	if err == nil {
		_, _, err = conn.WriteMsgUnix(frame, unix.UnixRights(fds...), nil)
	}
	for _, member := range a.members {
		unix.Close(member.client)
		a.c.m.seats.shares.Leave(a.c.payer(), 1)
	}
	return err
}

// awaitTaken waits until a client has closed its connection and has read all that was sent, or the master ends. A
// client can shut the connection down and still read, so the kernel is asked what is unread.
func awaitTaken(ctx context.Context, conn *net.UnixConn) {
	var rest [64]byte
	for err := error(nil); err == nil; {
		_, err = conn.Read(rest[:])
	}
	look := time.NewTicker(lookAfter)
	defer look.Stop()
	for unread(conn) {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}

// unread reports whether the other end of a unix socket has not read all that was sent to it (SIOCOUTQ, as in tcp(7)).
func unread(conn *net.UnixConn) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	bytes := 0
	err = raw.Control(func(fd uintptr) { bytes, _ = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) })
	return err == nil && bytes > 0
}

// run serves a member until its connection ends. If err is not nil, its process was not begun.
func (mb *member) run(ctx context.Context, err error) {
	c, ghost := mb.conn, mb.launch.spawn.PID
	stop := context.AfterFunc(ctx, func() { c.conn.Close() })
	if err == nil {
		err = c.start(ctx, mb.launch)
	}
	stop()
	mb.leave()
	c.conn.Close()
	c.settled()
	mb.launch = nil // what comes next may take long
	c.log.Debug("a client's request ended", "pid", c.who.PID, "ghost", ghost, "err", err)
	<-mb.of.taken
	c.m.seats.shares.Leave(c.payer(), 1)
}

// kin are ghosts that get the limits of the first of them. All are children of one process that has asked for them
// together, and could have given any of them these limits.
type kin struct {
	mu     sync.Mutex
	limits []wire.Limit // nil: none has been read
}

// of returns the limits for a ghost.
func (k *kin) of(ghost wire.PID) ([]wire.Limit, error) {
	if k == nil {
		return limitsOf(ghost)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.limits == nil {
		limits, err := limitsOf(ghost)
		if err != nil {
			return nil, err
		}
		k.limits = limits
	}
	return k.limits, nil
}
