package pid1

import (
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"bproc/slave/pid1/rights"
	"bproc/wire"
)

// result is how a launch went; the zero result means that the process runs.
type result struct {
	stage wire.Stage
	errno unix.Errno
}

func launched(pid wire.PID, r result) *wire.InitLaunched {
	return &wire.InitLaunched{PID: pid, Stage: r.stage, Errno: uint32(r.errno)}
}

// begin enters a launch in the table, so that later requests about the same process find it there,
// and starts it in a goroutine of its own.
func (in *Init) begin(g *errgroup.Group, c *rights.Conn, number uint64, m *wire.InitLaunch, fds []int) {
	sp := &m.Spawn
	n, refused := in.enter(sp)
	if refused != 0 {
		rights.Close(fds)
		answer := launched(sp.PID, result{wire.StageSpawn, refused})
		if refused != unix.EEXIST { // a launch of that number is under way
			in.order.kept.keep(sp.PID, answer)
		}
		in.order.reply(c, number, answer)
		return
	}
	g.Go(func() error {
		defer in.leave(sp)
		in.launch(c, number, m, fds, n)
		return nil
	})
}

func (in *Init) enter(sp *wire.Spawn) (*launching, unix.Errno) {
	if !in.places.Take(int64(sp.UID), placesOf(&sp.Command)) {
		return nil, unix.EAGAIN
	}
	in.statuses.mu.Lock() // the end of an earlier process of that number is taken in before or after this
	defer in.statuses.mu.Unlock()
	n, ok := in.launches.begin(sp.PID)
	if !ok {
		in.leave(sp)
		return nil, unix.EEXIST
	}
	in.order.kept.forget(sp.PID)
	n.earlier = in.parents.Has(sp.PID)
	in.parents.Set(sp.PID, sp.Parent)
	return n, 0
}

// placesOf returns how many launches a command counts for.
func placesOf(cmd *wire.Command) int {
	size := 0
	for _, list := range [][]string{cmd.Argv, cmd.Env} {
		for _, s := range list {
			size += len(s) + 16
		}
	}
	return 1 + size/placeSize
}

func (in *Init) leave(sp *wire.Spawn) { in.places.Leave(int64(sp.UID), placesOf(&sp.Command)) }

// launch starts a process and answers the daemon.
func (in *Init) launch(c *rights.Conn, number uint64, m *wire.InitLaunch, fds []int, n *launching) {
	born, r := in.start(m, fds)
	rights.Close(fds) // before the process is reported: its streams must end with it
	if born {
		in.childBorn()
		if r.stage != 0 {
			<-n.ended
		}
	}
	in.finish(c, number, m.Spawn.PID, n, born, r)
}

// finish answers a launch. Everything that happened to the process meanwhile follows in order.
func (in *Init) finish(c *rights.Conn, number uint64, pid wire.PID, n *launching, born bool, r result) {
	in.order.mu.Lock()
	defer in.order.mu.Unlock()
	in.endLaunch(pid, n, born, r)
	if r.stage == 0 {
		in.deliverHeld(pid, n)
	}
	in.order.launchedLocked(c, number, launched(pid, r))
}

// endLaunch removes a launch, and queues the statuses that were held for it. The lock of order
// keeps them from being reported before the answer.
func (in *Init) endLaunch(pid wire.PID, n *launching, born bool, r result) {
	in.statuses.mu.Lock()
	defer in.statuses.mu.Unlock()
	in.launches.end(pid)
	switch {
	case !born: // the statuses are about another process that had the number
		if !n.earlier || !in.exists(pid) {
			in.parents.Forget(pid)
		}
		for _, status := range n.statuses {
			in.statuses.putLocked(pid, status, false)
		}
	case r.stage != 0:
		in.forget(pid)
	default:
		ended := !in.exists(pid) // a zombie exists
		if ended {
			in.forget(pid)
		}
		for _, status := range own(n.statuses, ended) {
			in.statuses.putLocked(pid, status, true)
		}
	}
}

// own returns the statuses held for a launch that are about its process, which has ended or not. An
// earlier process of its number can have ended just before.
func own(held []waited, ended bool) []waited {
	begin, end := 0, 0
	for i, status := range held {
		if over(status.is) {
			begin, end = end, i+1
		}
	}
	if !ended {
		begin = end
	}
	return held[begin:]
}

// deliverHeld sends the process the signals that came before it existed.
func (in *Init) deliverHeld(pid wire.PID, n *launching) {
	for _, info := range n.signals {
		in.logSignal(pid, in.send(int(pid), info))
	}
	if n.killed {
		in.logSignal(pid, in.kill(int(pid), unix.SIGKILL))
	}
}
