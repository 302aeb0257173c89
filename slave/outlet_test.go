package slave

import (
	"errors"
	"testing"

	"bproc/wire"
)

// TestOutletDrops puts messages without a stream, which are dropped without an
// error, and one that no stream can carry, which is an error.
func TestOutletDrops(t *testing.T) {
	o := newOutlet(nil)
	if err := o.put(new(wire.Leaving)); err != nil || !o.Idle() {
		t.Errorf("without a stream: %v, kept: %v", err, !o.Idle())
	}
	if err := o.start(&wire.Inventory{Kernel: string(make([]byte, wire.MaxCommand))}); !errors.Is(err, wire.ErrFrame) {
		t.Errorf("too long: got %v, want %v", err, wire.ErrFrame)
	}
	if err := o.start(new(wire.Inventory)); err != nil || o.Idle() {
		t.Errorf("a session: %v, its inventory is dropped: %v", err, o.Idle())
	}
	o.Close()
	if err := o.put(new(wire.Leaving)); err != nil || !o.Idle() {
		t.Errorf("after the session: %v, kept: %v", err, !o.Idle())
	}
}
