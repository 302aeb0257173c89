package master

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"bproc/internal/outbox"
	"bproc/wire"
)

// counting is a keeper that answers nobody.
type counting struct {
	*outbox.Outbox
	sent  int // bytes
	bare  int // ghosts that got a name alone
	asked []uint64
}

func (k *counting) Put(number uint64, m wire.Message) error {
	frame, err := wire.Append(nil, number, m)
	if err != nil {
		return err
	}
	if e, ok := m.(*wire.GhostExec); ok {
		k.asked = append(k.asked, number)
		if len(e.Argv) == 1 {
			k.bare++
		}
	}
	k.sent += len(frame)
	return k.Outbox.Put(number, m)
}

// TestArgvs has a node tell more of command lines than the keeper could be told, which takes
// nothing meanwhile, and then as everybody does.
func TestArgvs(t *testing.T) {
	s := newScript(t)
	for _, input := range []string{"node 0", "up s0 0", "run 4711 0", "done GhostAdopt 4711", "events s0 Spawned 4711"} {
		words := strings.Fields(input)
		s.input(words[0], words[1:])
	}
	full := false
	k := &counting{Outbox: outbox.New(func() { full = true })}
	k.Open()
	s.core.keeper = k
	sess := s.session("s0")
	tell := func(argv ...string) {
		s.core.fromSlave(sess, 0, &wire.Events{First: sess.last + 1, Events: []wire.Event{{Kind: wire.EventExeced, PID: 4711, Argv: argv}}})
	}
	long := strings.Repeat("x", wire.MaxCommand/4)
	for range 50 {
		tell("name", long, long, long)
	}
	for range 1000 {
		tell("name", long[:60<<10])
	}
	if full || k.sent > maxArgvs+1<<20 {
		t.Fatalf("%d bytes for the keeper of what one node says; given up: %v", k.sent, full)
	}
	if k.bare == 0 {
		t.Error("no ghost has a name alone: this shows nothing")
	}
	for _, number := range k.asked {
		s.core.fromKeeper(number, &wire.GhostDone{})
	}
	k.asked, k.bare = nil, 0
	tell("name", long[:60<<10])
	if len(k.asked) != 1 || k.bare != 0 {
		t.Error("the room of what the keeper has done is not free again")
	}
	s.core.fromKeeper(k.asked[0], &wire.GhostDone{})
	if sess.argvs != 0 || s.core.argvs.all != 0 || sess.tally.certain() != sess.last {
		t.Errorf("%d, %d bytes wait for nothing; %d of %d events are certain", sess.argvs, s.core.argvs.all, sess.tally.certain(), sess.last)
	}
}

// TestCutArgv keeps command lines as they are up to a bound.
func TestCutArgv(t *testing.T) {
	for _, tt := range []struct {
		argv []string
		most int
		want string
	}{
		{nil, 10, ""},
		{[]string{"sh", "-c", "true"}, 100, "sh -c true"},
		{[]string{"sh", "-c", "true"}, 11, "sh -c true"},
		{[]string{"sh", "-c", "true"}, 10, "sh -c tru"},
		{[]string{"sh", "-c", "true"}, 3, "sh"},
		{[]string{"sh"}, 0, ""},
	} {
		got := cutArgv(tt.argv, tt.most)
		if text := strings.Join(got, " "); text != tt.want || sizeOf(got) > tt.most {
			t.Errorf("%q cut to %d bytes: got %q, want %q", tt.argv, tt.most, text, tt.want)
		}
	}
}

// TestAgainIsBounded has a node tell more again than the master keeps.
func TestAgainIsBounded(t *testing.T) {
	long := strings.Repeat("x", 100<<10)
	const events = 1000
	for name, argv := range map[string][]string{"long arguments": {long}, "empty arguments": make([]string, 64<<10)} {
		t.Run(name, func(t *testing.T) {
			s := &session{inventory: wire.Inventory{Again: events}}
			var told bytes.Buffer
			for first := range uint64(events) {
				m := &wire.Events{First: first + 1, Events: []wire.Event{{Kind: wire.EventExeced, PID: 1, Argv: argv}}}
				if err := wire.Write(&told, 0, m); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := s.readAgain(newRetelling(wire.NewReader(&told))); err != nil {
				t.Fatal(err)
			}
			kept := 0
			for i := range s.again {
				kept += memoryOf(s.again[i].Argv)
			}
			if len(s.again) != events || kept > maxArgvsAgain || kept < maxArgvsAgain/2 {
				t.Errorf("%d events with %d bytes of command lines are kept", len(s.again), kept)
			}
		})
	}
	t.Run("others", func(t *testing.T) {
		s := &session{inventory: wire.Inventory{Again: events}}
		var told bytes.Buffer
		for range maxEarlyBytes/len(long) + 1 {
			if err := wire.Write(&told, 0, &wire.Call{Info: []byte(long)}); err != nil {
				t.Fatal(err)
			}
		}
		if between, err := s.readAgain(newRetelling(wire.NewReader(&told))); !errors.Is(err, errUnexpected) {
			t.Errorf("got %d messages and %v, want %v", len(between), err, errUnexpected)
		}
	})
}

// TestMaxUncertain has a node tell events whose consequences never come to an end: it is not
// listened to any more.
func TestMaxUncertain(t *testing.T) {
	c := &slaveConn{session: new(session)}
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
	if err := newAdmitter().room.Acquire(t.Context(), int64(wire.MaxCommand)); err != nil {
		t.Errorf("the longest message has no room: %v", err)
	}
}

// TestRefreshes has a client ask a node that does not answer again and again.
func TestRefreshes(t *testing.T) {
	l := newLookedAt(t)
	client := l.ask(caller{uid: 1000}, &wire.Look{Version: wire.Version, Node: 3})
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
