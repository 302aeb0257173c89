package stdio

import (
	"testing"
	"time"

	"bproc/test/limit"
	"bproc/wire"
)

// TestLateClient: what concerns a process of which nothing is left does not concern the process that
// has its slot now.
func TestLateClient(t *testing.T) {
	s := ways(t)
	first := enter(t, s, 4711, 1)
	a := attach(t, first, [2]uint64{})
	first.Run()
	first.Close()
	for deadline := time.Now().Add(limit.Scaled(15 * time.Second)); s.Find(4711) != nil; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the descriptors are still there")
		}
	}
	first.pipes.closeFar()
	s.work.Wait() // also for the release of the slot
	second := enter(t, s, 4712, 2)
	if second.slot != first.slot {
		t.Fatal("another slot")
	}
	if _, err := second.pipes.end[1].Write([]byte("output")); err != nil {
		t.Fatal(err)
	}
	if _, err := second.out[0].fill(); err != nil {
		t.Fatal(err)
	}
	if err := first.frame(a, wire.Header{Type: wire.TypeStdoutTaken, Number: 3}, nil); err != nil {
		t.Error(err)
	}
	first.hangUp()
	first.Closed(a)
	if got := second.slot.Outputs[0].Taken(); got != 0 || second.slot.Left() {
		t.Errorf("%d bytes are taken, want 0; its client has left: %v", got, second.slot.Left())
	}
}
