package client_test

import (
	"io"
	"sync/atomic"
	"testing"
	"time"

	"bproc/internal/client"
	"bproc/internal/fakemaster"
	"bproc/wire"
	"bproc/wire/bypass"
)

// nodeSide goes on with a process over a bypass, to its end.
func nodeSide(t *testing.T, b *bypass.Conn) {
	t.Helper()
	if _, err := b.Write(nil); err != nil {
		return
	}
	if _, _, err := wire.NewReader(b).Read(); err != nil {
		return
	}
	_ = wire.Write(b, 0, new(wire.Resumed))
	for frames := bypass.NewFrames(b); ; {
		if _, _, err := frames.Next(); err != nil {
			return
		}
	}
}

// TestTwoBypasses has a bypass take longer than the time after which one is asked for again, with much output meanwhile.
// The client does not take a second one, and so does not leave its process.
func TestTwoBypasses(t *testing.T) {
	defer client.SetBypassAgain(0)()
	const more = 200 // frames while the first bypass is made
	var asked atomic.Int32
	came, second, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
	m := fakemaster.Start(t, func(c *fakemaster.Conn, m wire.Message) {
		if _, ok := m.(*wire.Run); !ok {
			t.Errorf("the client says %T", m)
			return
		}
		c.Started()
		go func() {
			for n := 0; n < more; {
				if c.Output(wire.TypeStdout, string(make([]byte, wire.MaxData))) != nil {
					break
				}
				if asked.Load() > 0 {
					n++
				}
			}
			close(came)
		}()
		for {
			if _, err := c.Frame(); err != nil {
				break
			}
		}
		select {
		case <-over:
		default:
			t.Error("the client has left while its process runs")
		}
	})
	m.Bypass = func(c *fakemaster.Conn) {
		n := asked.Add(1)
		b := c.Bypassed()
		if b == nil {
			return
		}
		defer b.Close()
		switch n {
		case 1:
			<-came
		case 2:
			defer close(second)
		}
		nodeSide(t, b)
	}
	cmd := m.Client.Command(2, "prog")
	cmd.Stdout = io.Discard
	if err := cmd.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	waited := make(chan struct{})
	go func() {
		defer close(waited)
		_, _ = cmd.Wait()
	}()
	<-came
	select {
	case <-second:
	case <-time.After(100 * time.Millisecond): // there is none, as it should be
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the client has asked for %d bypasses", n)
	}
	close(over)
	m.End(cmd.PID, 0)
	cmd.Leave()
	<-waited
}
