package master

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"bproc/master/core"
	"bproc/wire"
)

// TestAgainIsBounded has a node report more again than the master keeps.
func TestAgainIsBounded(t *testing.T) {
	long := strings.Repeat("x", 100<<10)
	const events = 1000
	for name, argv := range map[string][]string{"long arguments": {long}, "empty arguments": make([]string, 64<<10)} {
		t.Run(name, func(t *testing.T) {
			var told bytes.Buffer
			for first := range uint64(events) {
				m := &wire.Events{First: first + 1, Events: []wire.Event{{Kind: wire.EventExeced, PID: 1, Argv: argv}}}
				if err := wire.Write(&told, 0, m); err != nil {
					t.Fatal(err)
				}
			}
			again, _, err := newRetelling(wire.NewReader(&told)).read(events)
			if err != nil {
				t.Fatal(err)
			}
			kept := 0
			for i := range again {
				kept += memoryOf(again[i].Argv)
			}
			if len(again) != events || kept > maxArgvsAgain || kept < maxArgvsAgain/2 {
				t.Errorf("%d events with %d bytes of command lines are kept", len(again), kept)
			}
		})
	}
	t.Run("others", func(t *testing.T) {
		var told bytes.Buffer
		for range maxEarlyBytes/len(long) + 1 {
			if err := wire.Write(&told, 0, &wire.Call{Info: []byte(long)}); err != nil {
				t.Fatal(err)
			}
		}
		if _, between, err := newRetelling(wire.NewReader(&told)).read(events); !errors.Is(err, core.ErrUnexpected) {
			t.Errorf("got %d messages and %v, want %v", len(between), err, core.ErrUnexpected)
		}
	})
}

// TestTooManyAgain has a node announce more events than are kept. The master waits for none of
// them.
func TestTooManyAgain(t *testing.T) {
	if _, _, err := newRetelling(wire.NewReader(new(bytes.Buffer))).read(maxAgain + 1); !errors.Is(err, core.ErrOrder) {
		t.Errorf("got %v, want %v", err, core.ErrOrder)
	}
}

// TestMaxUncertain has a node report events that are never done. The master reads no more from it.
func TestMaxUncertain(t *testing.T) {
	c := new(slaveConn)
	c.barrier.Move(10 * maxUncertain)
	ended := make(chan error, 1)
	go func() { ended <- c.keepUp(t.Context(), &wire.Events{First: maxUncertain + 5}) }()
	select {
	case err := <-ended:
		t.Fatalf("it is listened to: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	c.certain.Move(5)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	c.breakOff()
	if err := c.keepUp(t.Context(), &wire.Events{First: maxUncertain + 6}); !errors.Is(err, errBroken) {
		t.Errorf("after the end of the session: got %v", err)
	}
}

// TestRefreshes has a client ask again and again, of a node that does not answer.
func TestRefreshes(t *testing.T) {
	l := newLookedAt(t)
	client := l.ask(core.Caller{UID: 1000}, &wire.Look{Version: wire.Version, Node: 3})
	node := <-l.streams
	go func() { _, _ = io.Copy(io.Discard, node) }()
	var err error
	for n := 0; err == nil; n++ {
		if n > 1_000_000 {
			t.Fatal("there is no end of it")
		}
		err = wire.Write(client, 0, &wire.Refresh{})
	}
	if err := node.Close(); err != nil {
		t.Error(err)
	}
}
