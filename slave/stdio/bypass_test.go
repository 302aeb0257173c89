package stdio

import (
	"errors"
	"io"
	"testing"

	"golang.org/x/sys/unix"
)

// attachBypass attaches a bypass beside the stream that is there.
func attachBypass(t *testing.T, d *Descriptors, c io.WriteCloser) *Client {
	t.Helper()
	made, err := d.MakeBypass()
	if err != nil {
		t.Fatal(err)
	}
	defer made()
	a := NewBypass(c)
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
	bypass := attachBypass(t, d, newClient())
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

// TestBypassThatWasGivenUp has a client say that it goes on by a bypass, which arrives after it has given that up and
// gone on by another stream: the stream keeps the process.
func TestBypassThatWasGivenUp(t *testing.T) {
	d := enter(t, ways(t), 4711, 1)
	d.Run()
	attach(t, d, [2]uint64{})
	made, err := d.MakeBypass()
	if err != nil {
		t.Fatal(err)
	}
	stream := attach(t, d, [2]uint64{})
	late := NewBypass(newClient())
	if err := d.Attach(late, [2]uint64{}, func(uint64) error { return nil }); !errors.Is(err, unix.ESRCH) {
		t.Errorf("the bypass: got %v, want %v", err, unix.ESRCH)
	}
	made()
	if err := d.in.accept(stream, []byte("more")); err != nil {
		t.Fatal(err)
	}
	d.Closed(stream)
	if got, err := io.ReadAll(d.pipes.end[0]); string(got) != "more" || err != nil {
		t.Errorf("the process reads %q, %v, want what came by the stream", got, err)
	}
}

// TestBypassesWithoutPause asks for one bypass of a process after the other.
func TestBypassesWithoutPause(t *testing.T) {
	d := enter(t, ways(t), 4711, 1)
	d.Run()
	attach(t, d, [2]uint64{})
	for range 2 {
		attachBypass(t, d, newClient())
		if _, err := d.MakeBypass(); !errors.Is(err, unix.EAGAIN) {
			t.Errorf("another one at once: got %v, want %v", err, unix.EAGAIN)
		}
		d.made = d.made.Add(-bypassPause)
	}
}
