package ghost

import (
	"errors"
	"log/slog"
	"testing"

	"bproc/wire"
)

// frames counts the messages in an outbox, by type.
func (o *outbox) frames(t *testing.T) map[wire.Type]int {
	t.Helper()
	count := map[wire.Type]int{}
	for at := 0; at < len(o.buf); {
		h, err := wire.ParseHeader(o.buf[at:])
		if err != nil {
			t.Fatal(err)
		}
		count[h.Type]++
		at += wire.HeaderSize + int(h.Length)
	}
	return count
}

// TestBehind has a master read nothing until it is given up. The next connection begins with the
// kept signals and ends of ghosts.
func TestBehind(t *testing.T) {
	o := newOutbox(slog.New(slog.DiscardHandler))
	o.done(0, 1, 0) // there is no master
	o.gone(&wire.GhostGone{PID: 9})
	o.signal(7, signalInfo(15, 0))
	first := o.attach()
	if got := o.frames(t); got[wire.TypeGhostSignal] != 1 || got[wire.TypeGhostGone] != 1 || len(got) != 2 {
		t.Errorf("at first %v", got)
	}
	o.done(first, 2, 0)
	for n := 0; !o.behind && n < 1<<20; n++ {
		o.signal(7, signalInfo(50, 0))
	}
	if len(o.buf) > maxEvents+1<<10 {
		t.Errorf("%d bytes wait", len(o.buf))
	}
	if _, _, err := o.take(nil, nil); !errors.Is(err, errBehind) {
		t.Errorf("a master that takes nothing: %v", err)
	}
	o.detach()
	o.attach()
	o.done(first, 3, 0) // the former master has asked for it
	if got := o.frames(t); got[wire.TypeGhostSignal] != maxKept || got[wire.TypeGhostGone] != 1 || len(got) != 2 {
		t.Errorf("at the next connection %v", got)
	}
	if _, _, err := o.take(nil, nil); err != nil {
		t.Errorf("the next connection: %v", err)
	}
}
