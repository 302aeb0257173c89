package client

import (
	"errors"
	"testing"
	"time"

	"bproc/wire"
)

// TestWhatOnlyTheMasterSays has a node say over a bypass what is the master's to say.
func TestWhatOnlyTheMasterSays(t *testing.T) {
	ended, err := wire.Append(nil, 0, &wire.Ended{Status: 1})
	if err != nil {
		t.Fatal(err)
	}
	for name, said := range map[string][]byte{
		"Ended":     ended,
		"Effective": wire.AppendData(nil, wire.TypeEffective, 7, nil),
	} {
		f := frames{}
		if _, err := f.take(nil, said); err != nil {
			t.Errorf("%s of the master: %v", name, err)
		}
		f = frames{past: true}
		if _, err := f.take(nil, said); !errors.Is(err, wire.ErrFrame) {
			t.Errorf("%s of the node: got %v, want %v", name, err, wire.ErrFrame)
		}
	}
}

// TestPauseBetweenBypasses has bypasses break: those that break at once are asked for less and less often.
func TestPauseBetweenBypasses(t *testing.T) {
	s := new(stream)
	for _, want := range []time.Duration{20 * time.Second, 40 * time.Second, 80 * time.Second} {
		if s.brokeLocked(s.movedLocked()); s.pause != want {
			t.Errorf("got %v, want %v", s.pause, want)
		}
	}
	for range 10 {
		s.brokeLocked(s.movedLocked())
	}
	if s.pause != bypassLonger {
		t.Errorf("got %v at last, want %v", s.pause, bypassLonger)
	}
	begun := s.movedLocked()
	s.frames.got[0] += bypassGood
	if s.brokeLocked(begun); s.pause != 0 {
		t.Errorf("got %v after one that was of use", s.pause)
	}
}
