package pid1

import (
	"golang.org/x/sys/unix"

	"bproc/slave/pid1/rights"
	"bproc/wire"
)

// exitNotExecuted is the status of a process that could not execute its
// command: what a shell reports for a command that it did not find.
const exitNotExecuted = unix.WaitStatus(127 << 8)

// result is how a launch went; the zero result: the process runs.
type result struct {
	stage wire.Stage
	errno unix.Errno
}

func launched(pid wire.PID, r result) *wire.InitLaunched {
	return &wire.InitLaunched{PID: pid, Stage: r.stage, Errno: uint32(r.errno)}
}

// launch starts a process and answers the daemon.
func (in *Init) launch(c *rights.Conn, number uint64, sp *wire.Spawn, fds []int) {
	p, err := newPlan(sp, fds, nodeState{null: int(in.null.Fd()), resetOOM: in.resetOOM})
	if err != 0 {
		rights.Close(fds)
		in.order.reply(c, number, launched(sp.PID, result{wire.StageRequest, err}))
		return
	}
	n, ok := in.launches.begin(sp.PID)
	if !ok {
		rights.Close(fds)
		in.order.reply(c, number, launched(sp.PID, result{wire.StageSpawn, unix.EEXIST}))
		return
	}
	born, r := p.run()
	rights.Close(fds) // before anybody hears of the process: its streams end with it
	in.childBorn()
	if r.stage != 0 && born {
		<-n.ended
	}
	in.finish(c, number, sp.PID, n, born, r)
}

// finish answers a launch, with all that happened to the process meanwhile
// following in order.
func (in *Init) finish(c *rights.Conn, number uint64, pid wire.PID, n *launching, born bool, r result) {
	in.order.mu.Lock()
	defer in.order.mu.Unlock()
	in.launches.end(pid)
	if r.stage == 0 {
		in.deliverHeld(pid, n)
	}
	told := in.order.replyLocked(c, number, launched(pid, r))
	if r.stage == 0 || !born { // not born: they are about another process that had the number
		for _, status := range n.statuses {
			in.order.statusLocked(pid, status)
		}
	}
	if r.stage != 0 && !told {
		// The daemon that asked is gone, and the next was told to expect this process.
		in.order.statusLocked(pid, exitNotExecuted)
	}
}

// deliverHeld gives the process the signals that came before it existed.
func (in *Init) deliverHeld(pid wire.PID, n *launching) {
	for _, info := range n.signals {
		in.logSignal(pid, send(int(pid), info))
	}
	if n.killed {
		in.logSignal(pid, unix.Kill(int(pid), unix.SIGKILL))
	}
}
