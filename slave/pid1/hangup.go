package pid1

import (
	"context"
	"maps"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// hangUps are the sessions to hang up. One goroutine does that for all of them: a client that is
// killed can leave thousands at once, and each look reads files of all processes.
type hangUps struct {
	mu    sync.Mutex
	asked map[wire.PID]*hangUp // for the next look
	more  chan struct{}        // holds one: something was put into asked
}

// hangUp is a session that is being hung up.
type hangUp struct {
	told  map[wire.PID]bool // the processes that have got the signals
	looks int
	fresh bool // the last look has found processes that had not been told
}

// maxLooks bounds the looks for one session: processes that ignore SIGHUP may fork forever.
const maxLooks = 10

func (h *hangUps) init() {
	h.asked = make(map[wire.PID]*hangUp)
	h.more = make(chan struct{}, 1)
}

// beginHangUp starts to hang up a session.
func (in *Init) beginHangUp(m *wire.InitHangUp) {
	if m.SID <= initPID {
		in.cfg.Log.Warn("malformed session", "sid", m.SID)
		return
	}
	in.hangUps.put(m.SID)
}

func (h *hangUps) put(sid wire.PID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked[sid] = &hangUp{told: make(map[wire.PID]bool)}
	select {
	case h.more <- struct{}{}:
	default:
	}
}

// take returns the sessions asked for since the last call.
func (h *hangUps) take() map[wire.PID]*hangUp {
	h.mu.Lock()
	defer h.mu.Unlock()
	asked := h.asked
	h.asked = make(map[wire.PID]*hangUp)
	return asked
}

// hangUp sends SIGHUP and SIGCONT to all processes of the sessions that are asked for, as the kernel
// does for a group when its terminal hangs up. It ends with the context.
func (in *Init) hangUp(ctx context.Context) error {
	for {
		select {
		case <-in.hangUps.more:
		case <-ctx.Done():
			return nil
		}
		err := in.hangUps.serve(ctx, processes, in.sessionOf, func(pid wire.PID) {
			in.logSignal(pid, in.kill(int(pid), unix.SIGHUP))
			in.logSignal(pid, in.kill(int(pid), unix.SIGCONT))
		})
		if err != nil {
			in.cfg.Log.Warn("cannot hang up sessions", "err", err)
		}
	}
}

// serve calls tell once for each process of the sessions. A process may fork before it is told, so
// serve looks again until it finds no other. Sessions asked for during a look are served by the next.
func (h *hangUps) serve(ctx context.Context, look func() ([]wire.PID, error), session func(wire.PID) wire.PID, tell func(wire.PID)) error {
	for pending := h.take(); len(pending) > 0 && ctx.Err() == nil; maps.Copy(pending, h.take()) {
		pids, err := look()
		if err != nil {
			return err
		}
		for _, pid := range pids {
			if s := pending[session(pid)]; s != nil && !s.told[pid] {
				tell(pid)
				s.told[pid], s.fresh = true, true
			}
		}
		for sid, s := range pending {
			if s.looks++; !s.fresh || s.looks == maxLooks {
				delete(pending, sid)
			}
			s.fresh = false
		}
	}
	return nil
}

// sessionOf returns the session of a process; 0: the process is a stand-in or has ended.
func (in *Init) sessionOf(pid wire.PID) wire.PID {
	if in.standins.at(pid) != nil {
		return 0
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(int(pid)) + "/stat")
	if err != nil {
		return 0
	}
	f, _ := parseStat(stat)
	return f.sid
}
