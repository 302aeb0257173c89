package pid1

import (
	"encoding/binary"
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

const exited = unix.WaitStatus(3 << 8)

func newLaunches() *launches {
	l := &launches{}
	l.init(func(wire.PID) bool { return true })
	return l
}

func TestSignalIsHeldUntilTheProcessExists(t *testing.T) {
	l := newLaunches()
	n, ok := l.begin(7)
	if !ok {
		t.Fatal("not begun")
	}
	absent := func() error { return unix.ESRCH }
	present := func() error { return nil }
	for _, c := range []struct {
		name string
		pid  wire.PID
		send func() error
		err  error
		held int
	}{
		{"no such process", 8, absent, unix.ESRCH, 0},
		{"process that exists", 7, present, nil, 0},
		{"process to come", 7, absent, nil, 1},
	} {
		if _, err := l.signal(&wire.InitSignal{PID: c.pid, Info: []byte(c.name)}, c.send); !errors.Is(err, c.err) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.err)
		}
		if len(n.signals) != c.held {
			t.Errorf("%s: %d signals held, want %d", c.name, len(n.signals), c.held)
		}
	}
	seq := uint64(0)
	give := func(sig unix.Signal) error {
		info := make([]byte, wire.SizeofSiginfo)
		binary.LittleEndian.PutUint32(info, uint32(sig))
		seq++
		_, err := l.signal(&wire.InitSignal{PID: 7, Seq: seq, Boot: 1, Info: info}, absent)
		return err
	}
	const queued = realTime + 7
	for i := range 2 * maxHeld {
		if err := give(queued); (err == nil) != (i < maxHeld-1) {
			t.Errorf("signal %d: got %v, %d are held", i, err, len(n.signals))
		}
	}
	if len(n.signals) != maxHeld {
		t.Errorf("%d signals held, want no more than %d", len(n.signals), maxHeld)
	}
	for range 3 * maxHeld { // standard signals are held once, even when there is no room for others
		for _, sig := range []unix.Signal{unix.SIGWINCH, unix.SIGTERM, unix.SIGKILL} {
			if err := give(sig); err != nil {
				t.Errorf("%v: got %v", sig, err)
			}
		}
	}
	if last := signalOf(n.signals[len(n.signals)-1]); len(n.signals) != maxHeld+3 || last != unix.SIGKILL {
		t.Errorf("%d signals held, the last %v; want %d, the last SIGKILL", len(n.signals), last, maxHeld+3)
	}
}

func TestStatusIsHeldUntilTheLaunchIsAnswered(t *testing.T) {
	l := newLaunches()
	n, _ := l.begin(7)
	if l.holdStatus(8, waited{is: exited}) {
		t.Error("status of another process is held")
	}
	for range 2 * maxHeld { // the process is stopped again and again
		l.holdStatus(7, waited{is: stopped})
	}
	select {
	case <-n.ended:
		t.Error("a stop counts as the end")
	default:
	}
	for range 2 { // an earlier process of that number, and this one
		if !l.holdStatus(7, waited{is: exited}) {
			t.Error("status is not held")
		}
	}
	<-n.ended
	if got := n.statuses[len(n.statuses)-1].is; got != exited || len(n.statuses) != maxHeld {
		t.Errorf("%d statuses, the last %#x", len(n.statuses), got)
	}
	l.end(7)
	if l.holdStatus(7, waited{is: exited}) {
		t.Error("status is held after the answer")
	}
}

func TestKillAllMarksWhatIsOnItsWay(t *testing.T) {
	l := newLaunches()
	before, _ := l.begin(7)
	unborn, err := l.killAll(func() error { return nil })
	if err != nil || len(unborn) != 1 || unborn[7] != before {
		t.Errorf("got %v, %v, want launch 7", unborn, err)
	}
	after, _ := l.begin(8)
	if !before.killed || after.killed {
		t.Errorf("killed: got %v before and %v after, want true and false", before.killed, after.killed)
	}
}

func TestOneLaunchOfANumber(t *testing.T) {
	l := newLaunches()
	if _, ok := l.begin(7); !ok {
		t.Error("first: refused")
	}
	if _, ok := l.begin(7); ok {
		t.Error("second: not refused")
	}
	l.end(7)
	if _, ok := l.begin(7); !ok {
		t.Error("after the end: refused")
	}
}
