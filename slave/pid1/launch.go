package pid1

import (
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"bproc/slave/pid1/rights"
	"bproc/wire"
)

// result is how a launch went; the zero result: the process runs.
type result struct {
	stage wire.Stage
	errno unix.Errno
}

func launched(pid wire.PID, r result) *wire.InitLaunched {
	return &wire.InitLaunched{PID: pid, Stage: r.stage, Errno: uint32(r.errno)}
}

// begin enters a launch in the table, so that what is asked next of the same
// process finds it there, and starts it in a goroutine of its own.
func (in *Init) begin(g *errgroup.Group, c *rights.Conn, number uint64, m *wire.InitLaunch, fds []int) {
	sp := &m.Spawn
	n, refused := in.enter(sp)
	if refused != 0 {
		rights.Close(fds)
		answer := launched(sp.PID, result{wire.StageSpawn, refused})
		if refused != unix.EEXIST { // of that number one is under way
			in.order.kept.keep(sp.PID, answer)
		}
		in.order.reply(c, number, answer)
		return
	}
	g.Go(func() error {
		defer func() { <-in.slots }()
		in.launch(c, number, m, fds, n)
		return nil
	})
}

func (in *Init) enter(sp *wire.Spawn) (*launching, unix.Errno) {
	select {
	case in.slots <- struct{}{}:
	default:
		return nil, unix.EAGAIN
	}
	n, ok := in.launches.begin(sp.PID)
	if !ok {
		<-in.slots
		return nil, unix.EEXIST
	}
	in.order.kept.forget(sp.PID)
	in.parents.Set(sp.PID, sp.Parent)
	return n, 0
}

// launch starts a process and answers the daemon.
func (in *Init) launch(c *rights.Conn, number uint64, m *wire.InitLaunch, fds []int, n *launching) {
	born, r := in.start(m, fds)
	rights.Close(fds) // before anybody hears of the process: its streams end with it
	if born {
		in.childBorn()
		if r.stage != 0 {
			<-n.ended
		}
	}
	in.finish(c, number, m.Spawn.PID, n, born, r)
}

// finish answers a launch, with all that happened to the process meanwhile
// following in order.
func (in *Init) finish(c *rights.Conn, number uint64, pid wire.PID, n *launching, born bool, r result) {
	in.order.mu.Lock()
	defer in.order.mu.Unlock()
	in.launches.end(pid)
	if r.stage == 0 {
		in.deliverHeld(pid, n)
	} else {
		in.parents.Forget(pid)
	}
	in.order.launchedLocked(c, number, launched(pid, r))
	if r.stage == 0 || !born { // not born: they are about another process that had the number
		for _, status := range n.statuses {
			in.order.statusLocked(pid, status, born)
		}
	}
}

// deliverHeld gives the process the signals that came before it existed.
func (in *Init) deliverHeld(pid wire.PID, n *launching) {
	for _, info := range n.signals {
		in.logSignal(pid, in.send(int(pid), info))
	}
	if n.killed {
		in.logSignal(pid, in.kill(int(pid), unix.SIGKILL))
	}
}
