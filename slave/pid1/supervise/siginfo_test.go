package supervise

import (
	"context"
	"encoding/binary"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/slave/pid1/filter"
)

// info makes a siginfo_t: signal, errno, code, and what follows.
func info(size int, words ...int32) []byte {
	b := make([]byte, size)
	for i, w := range words {
		binary.LittleEndian.PutUint32(b[4*i:], uint32(w))
	}
	return b
}

func TestSigqueue(t *testing.T) {
	const at = 0x1000
	const queue, timer, odd = -1, -2, -99
	unknown := info(128, 0, 0, odd)
	unknown[100] = 1
	for _, c := range []struct {
		name string
		info []byte
		call filter.Call
		args [6]uint64
		want string
	}{
		{
			"to one far away", info(128, 7, 0, queue, 0, 41, 42, 43), filter.Sigqueue, args(faraway, 34, at),
			"call 6 of 1048576: [1148576 34]; info 2200000000000000ffffffff00000000290000002a0000002b00000000000000; 0",
		},
		{
			"of a 32-bit program", info(128, 34, 0, queue, 41, 42, 43, 44), filter.Sigqueue32, args(faraway, 34, at),
			"call 6 of 1048576: [1148576 34]; info 2200000000000000ffffffff00000000290000002a0000002b00000000000000; 0",
		},
		{
			"to a thread far away", info(128, 34, 0, timer), filter.Tgsigqueue, args(faraway, faraway+1, 34, at),
			"call 7 of 1048576: [1148576 1148577 34]; info 2200000000000000feffffff",
		},
		{
			"to a thread, of a 32-bit program", info(128, 34, 0, queue), filter.Tgsigqueue32, args(faraway, faraway+1, 34, at),
			"call 7 of 1048576: [1148576 1148577 34]; info 2200000000000000ffffffff",
		},
		{"to one here", nil, filter.Sigqueue, args(shell, 34, at), "go on"},
		{"to a thread here", nil, filter.Tgsigqueue, args(worker, thread, 34, at), "go on"},
		{"to nobody", nil, filter.Sigqueue, args(0, 34, at), "go on"},
		{"to nobody's thread", nil, filter.Tgsigqueue, args(faraway, 0, 34, at), "go on"},
		{"no signal", info(128, 34, 0, queue), filter.Sigqueue, args(faraway, 65, at), "call 6 of 1048576: [1148576 65]"},
		{"bad address", nil, filter.Sigqueue, args(faraway, 34, at), "EFAULT"},
		{"end of the memory", info(127, 34, 0, queue), filter.Tgsigqueue, args(faraway, faraway, 34, at), "EFAULT"},
		{"as if from the kernel", info(128, 34, 0, 0x80), filter.Sigqueue, args(faraway, 34, at), "EPERM"},
		{"as if from kill", info(128, 34, 0, 0), filter.Sigqueue, args(faraway, 34, at), "EPERM"},
		{"as if from tkill", info(128, 34, 0, codeTkill), filter.Tgsigqueue, args(faraway, faraway, 34, at), "EPERM"},
		{"of a layout not yet known", unknown, filter.Sigqueue, args(faraway, 34, at), "E2BIG"},
		{"of an unknown code", info(128, 34, 0, odd), filter.Sigqueue, args(faraway, 34, at), "call 6"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMadeUp()
			m.bytes[at] = c.info
			if got := m.decided(t, child, c.call, c.args); !strings.HasPrefix(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// The thread that receives all calls does not read a caller's memory: that can take as long as the
// caller likes.
func TestMemoryIsReadWhileTheCallerWaits(t *testing.T) {
	const at = 0x1000
	for call, a := range map[filter.Call][6]uint64{
		filter.Sigqueue:     args(faraway, 34, at),
		filter.Sigqueue32:   args(faraway, 34, at),
		filter.Tgsigqueue:   args(faraway, faraway, 34, at),
		filter.Tgsigqueue32: args(faraway, faraway, 34, at),
		filter.PidfdSignal:  args(3, 34, at, 0),
	} {
		m := newMadeUp()
		m.bytes[at] = info(128, 34, 0, -1)
		n := &notif{ID: 1, PID: child, Data: seccompData{Nr: number(t, call), Arch: filter.ABIs()[0].Arch, Args: a}}
		v := m.supervisor().decide(n, &eyes{m, initOutside})
		if v.wait == nil || m.reads > 0 {
			t.Errorf("call %d: its caller's memory was read %d times before it waits", call, m.reads)
			continue
		}
		m.left = true // the data read then may be another caller's
		if v := v.wait(context.Background()); v.errno != unix.ESRCH || len(m.said) > 0 {
			t.Errorf("call %d of one that has gone: %v, and the front end heard %q", call, v.errno, m.said)
		}
		m.left = false
		if v := v.wait(context.Background()); v.errno != 0 || len(m.said) == 0 {
			t.Errorf("call %d: %v, and the front end heard %q", call, v.errno, m.said)
		}
	}
}
