package supervise

import (
	"context"
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/pidmap"
	"bproc/slave/pid1/filter"
	"bproc/wire"
)

// FuzzDecide has processes of the space make calls with any arguments, with any answers of the
// front end. No request is made in the name of another process, and every call has an outcome.
func FuzzDecide(f *testing.F) {
	callers := []uint32{shell, daemon, coming, child, leader, worker, orphan, inner, other, thread, gone, helper, 0, 1, ^uint32(0)}
	words := []uint64{ // from which the bytes choose arguments, besides arbitrary ones
		0, 1, 3, 4, 5, shell, child, worker, thread, outside, helper, faraway, group, session, uint64(shadow), gone,
		uint64(pidmap.LocalEnd), uint64(pidmap.Node), 1<<31 - 1, 1 << 31, 1 << 32, ^uint64(0), ^uint64(group) + 1, ^uint64(1<<31) + 1,
		9, 19, 20, 64, 65, unix.PIDFD_NONBLOCK, unix.PIDFD_THREAD, unix.PR_SET_PDEATHSIG, unix.PR_SET_CHILD_SUBREAPER,
	}
	abis := filter.ABIs()
	for nr, call := range abis[0].Calls {
		_ = call
		f.Add(uint8(0), uint32(nr), uint8(nr), []byte{9, 24, 3, 0, 0, 0}, []byte("siginfo"), int64(0), uint32(0))
		f.Add(uint8(1), uint32(nr), uint8(3), []byte{6, 25, 200, 0, 0, 0}, []byte{}, int64(-1), uint32(unix.ESRCH))
	}
	f.Fuzz(func(t *testing.T, abi uint8, nr uint32, who uint8, choice, memory []byte, value int64, errno uint32) {
		m := newMadeUp()
		m.answer = &wire.Return{Value: value, Errno: errno}
		n := &notif{ID: 1, PID: callers[int(who)%len(callers)]}
		n.Data.Arch, n.Data.Nr = abis[int(abi)%len(abis)].Arch, int32(nr)
		for i := range n.Data.Args {
			if i < len(choice) && int(choice[i]) < len(words) {
				n.Data.Args[i] = words[choice[i]]
			} else if len(choice) >= 8*i+8 {
				n.Data.Args[i] = binary.NativeEndian.Uint64(choice[8*i:])
			}
			m.bytes[uintptr(n.Data.Args[i])] = memory
		}
		s := m.supervisor()
		s.frontEnd = spokenFor{m, t, n.PID}
		v := s.decide(n, &eyes{m, initOutside})
		if v.wait != nil {
			v = v.wait(context.Background())
		}
		if v.wait != nil || v.goOn && (v.errno != 0 || v.file != nil) || v.errno != 0 && v.file != nil {
			t.Errorf("outcome %+v", v)
		}
	})
}

// spokenFor is the made-up front end, which accepts requests in the name of one process only.
type spokenFor struct {
	*madeUp
	t   *testing.T
	pid uint32
}

func (f spokenFor) Call(ctx context.Context, id uint64, c *wire.Call) (*wire.Return, error) {
	if uint32(c.Caller) != f.pid {
		f.t.Errorf("process %d asks in the name of %d", f.pid, c.Caller)
	}
	if len(c.Info) != 0 && len(c.Info) != wire.SizeofSiginfo {
		f.t.Errorf("%d bytes of siginfo", len(c.Info))
	}
	return f.madeUp.Call(ctx, id, c)
}
