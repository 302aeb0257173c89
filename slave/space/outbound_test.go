package space

import (
	"encoding/binary"
	"errors"
	"testing"
	"testing/synctest"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// TestWritten: a caller that waits for its requests waits until they are written, and for nothing
// else.
func TestWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := make(chan bool)
		count := 0
		var o outbound
		o.write = func(uint64, wire.Message, ...int) error {
			<-held
			count++
			return nil
		}
		if err := o.written(); err != nil || count != 0 {
			t.Errorf("with nothing to write: %v, %d written", err, count)
		}
		for range 3 {
			if err := o.put(0, &wire.InitSync{}); err != nil {
				t.Fatal(err)
			}
		}
		done := make(chan error, 1)
		go func() { done <- o.written() }()
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("it returns before anything is written: %v", err)
		default:
		}
		close(held)
		if err := <-done; err != nil || count < 3 {
			t.Errorf("%v, %d written, want 3", err, count)
		}
		synctest.Wait()
	})
}

// TestOutbound has a bpinit that reads nothing for a while.
func TestOutbound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := make(chan bool)
		var got []uint64
		var s Space
		o := &s.out
		o.write = func(number uint64, _ wire.Message, _ ...int) error {
			<-held
			got = append(got, number)
			return nil
		}
		if err := o.put(0, &wire.InitSync{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // it is being written
		for n := range uint64(maxOutbound) {
			if err := o.put(1+n, &wire.InitSync{}); err != nil {
				t.Fatal(err)
			}
		}
		if err := o.put(1, &wire.InitSync{}); !errors.Is(err, unix.EAGAIN) {
			t.Errorf("got %v, want %v", err, unix.EAGAIN)
		}
		sent := make(chan error, 1)
		go func() { sent <- o.send(1+maxOutbound, &wire.InitLaunch{}, []int{0}) }()
		synctest.Wait()
		if err := <-sent; !errors.Is(err, unix.EAGAIN) {
			t.Errorf("with descriptors: got %v, want %v", err, unix.EAGAIN)
		}
		for sig, want := range map[unix.Signal]error{unix.SIGTERM: unix.EAGAIN, unix.SIGKILL: nil} {
			if err := s.Signal(5, binary.NativeEndian.AppendUint32(nil, uint32(sig))); !errors.Is(err, want) {
				t.Errorf("%v: got %v, want %v", sig, err, want)
			}
		}
		close(held)
		synctest.Wait()
		const all = 1 + maxOutbound
		for i, n := range got[:all] {
			if n != uint64(i) {
				t.Fatalf("number %d came as the %d.", n, i)
			}
		}
		if len(got) != all+1 {
			t.Errorf("%d came, want %d and SIGKILL", len(got), all)
		}
		if err := o.put(1, &wire.InitSync{}); err != nil {
			t.Errorf("after all: %v", err)
		}
		if err := o.send(2, &wire.InitLaunch{}, []int{0}); err != nil || got[len(got)-1] != 2 {
			t.Errorf("with descriptors: %v, and the last was %d", err, got[len(got)-1])
		}
		o.close()
		if err := o.put(1, &wire.InitSync{}); !errors.Is(err, ErrGone) {
			t.Errorf("after the end: got %v, want %v", err, ErrGone)
		}
	})
}

// Requests to a connection that has ended do not accumulate.
func TestOutboundOfADeadConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o outbound
		broken := errors.New("broken")
		o.write = func(uint64, wire.Message, ...int) error { return broken }
		for range 100 {
			if err := o.put(1, &wire.InitSync{}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if err := o.send(1, &wire.InitLaunch{}, nil); !errors.Is(err, broken) {
			t.Errorf("with descriptors: got %v, want %v", err, broken)
		}
		synctest.Wait()
		if len(o.queue) != 0 || o.writing {
			t.Errorf("%d wait, writing: %v", len(o.queue), o.writing)
		}
		o.close()
	})
}
