package link_test

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"bproc/test/limit"
	"bproc/wire/link"
)

// TestDrop has a slave write to streams that the master has dropped. The master reads and discards
// the bytes until the slave closes the streams.
func TestDrop(t *testing.T) {
	m := newMaster(t, nil)
	slave, here := m.pair(m.addr())
	for i := range 6 {
		open := streams
		if i%2 == 0 {
			open = accepted
		}
		at, from := open(t, slave, here)
		reader := make(chan error, 1)
		go func() {
			_, err := io.ReadAll(from)
			reader <- err
		}()
		if err := from.Drop(); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-reader:
			if err != nil {
				t.Errorf("the reader gets %v", err)
			}
		case <-time.After(time.Minute):
			t.Fatal("the reader is not told")
		}
		for range 64 { // much more than a window
			if _, err := at.Write(make([]byte, 100<<10)); err != nil {
				t.Fatal(err)
			}
		}
		select {
		case <-from.Gone():
			t.Error("the stream is gone before the slave has closed it")
		default:
		}
		if err := at.Close(); err != nil {
			t.Error(err)
		}
		select {
		case <-from.Gone():
		case <-time.After(time.Minute):
			t.Fatalf("of a stream that was dropped something is left: %d streams", here.Streams())
		}
		if err := from.Drop(); err != nil {
			t.Error(err)
		}
	}
	if n := here.Streams(); n != 0 {
		t.Errorf("%d streams are left", n)
	}
	at, from := streams(t, slave, here)
	exchange(t, at, from, "works")
	if err := errors.Join(at.Close(), from.Drop()); err != nil {
		t.Error(err)
	}
}

// TestDroppedKeepsNothing checks that a dropped stream keeps no bytes, whatever the slave sends,
// and however much at a time.
func TestDroppedKeepsNothing(t *testing.T) {
	m := newMaster(t, nil)
	slave, here := m.pair(m.addr())
	const count, bytes = 64, 128 << 10
	aside, there := streams(t, slave, here)
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var open []link.Stream
	for range count {
		at, from := streams(t, slave, here)
		open = append(open, at)
		if _, err := at.Write(make([]byte, bytes)); err != nil {
			t.Fatal(err)
		}
		exchange(t, aside, there, "all has come")
		if err := from.Drop(); err != nil {
			t.Fatal(err)
		}
	}
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		var after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&after)
		if after.HeapAlloc < before.HeapAlloc+count*bytes/4 {
			break
		}
		if time.Since(begin) > 20*time.Second {
			t.Fatalf("%d KiB are kept of %d dropped streams", (after.HeapAlloc-before.HeapAlloc)>>10, count)
		}
	}
	for _, at := range append(open, aside) {
		if err := at.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestOverdue has a slave close no stream: the session ends when too many stay for long.
func TestOverdue(t *testing.T) {
	link.OpenTime(t, 200*time.Millisecond)
	m := newMaster(t, nil)
	slave, here := m.pair(m.addr())
	for range link.MaxOverdue + 1 {
		_, from := streams(t, slave, here)
		if err := from.Drop(); err != nil && here.Err() == nil {
			t.Fatal(err)
		}
	}
	if err := ended(t, here); err == nil || !strings.Contains(err.Error(), "leaves streams open") {
		t.Errorf("the session has ended by %v", err)
	}
}

// TestDropOfEnded ends the session before or while a stream is dropped.
func TestDropOfEnded(t *testing.T) {
	m := newMaster(t, nil)
	slave, here := m.pair(m.addr())
	_, first := streams(t, slave, here)
	_, second := streams(t, slave, here)
	if err := first.Drop(); err != nil {
		t.Error(err)
	}
	here.Close(nil)
	_ = ended(t, here)
	_ = second.Drop() // an error is the session's
	for _, s := range []link.Stream{first, second} {
		select {
		case <-s.Gone():
		case <-time.After(limit.Scaled(10 * time.Second)):
			t.Fatal("something is left of a stream after its session")
		}
	}
}

// accepted opens a stream from the slave and returns both ends.
func accepted(t testing.TB, slave, here *link.Session) (at, from link.Stream) {
	t.Helper()
	from, at = opened(t, slave, here)
	return at, from
}
