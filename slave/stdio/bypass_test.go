package stdio

import (
	"errors"
	"io"
	"testing"

	"golang.org/x/sys/unix"
)

// attachBypass attaches a bypass beside the stream that is there.
func attachBypass(t *testing.T, d *Descriptors) *Client {
	t.Helper()
	a := NewBypass(newClient())
	if err := d.Attach(a, [2]uint64{}, func(uint64) error { return nil }); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestBypassAfterLeaving has the client leave while it has a bypass, by which its last input may still come: nothing
// else goes on with the process.
func TestBypassAfterLeaving(t *testing.T) {
	d := enter(t, ways(t), 4711, 1)
	d.Run()
	stream := attach(t, d, [2]uint64{})
	bypass := attachBypass(t, d)
	d.Closed(stream)
	for name, a := range map[string]*Client{"bypass": NewBypass(newClient()), "stream": NewClient(newClient())} {
		if err := d.Attach(a, [2]uint64{}, func(uint64) error { return nil }); !errors.Is(err, unix.ESRCH) {
			t.Fatalf("another %s: got %v, want %v", name, err, unix.ESRCH)
		}
	}
	if err := d.in.accept(bypass, []byte("last")); err != nil {
		t.Fatal(err)
	}
	d.Lost(bypass)
	if got, err := io.ReadAll(d.pipes.end[0]); string(got) != "last" || err != nil {
		t.Errorf("the process reads %q, %v, want what came by the bypass", got, err)
	}
}
