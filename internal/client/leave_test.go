package client_test

import (
	"bytes"
	"io"
	"testing"
	"time"

	"bproc/internal/client"
	"bproc/internal/fakemaster"
	"bproc/test/limit"
	"bproc/wire"
)

// soon fails the test if something takes long.
func soon(t *testing.T, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		do()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(limit.Scaled(10 * time.Second)):
		t.Fatalf("%s takes more than 10 s", what)
	}
}

// TestLeaveWhileAway leaves a process whose master is gone, while the next one does not say whether it has it.
func TestLeaveWhileAway(t *testing.T) {
	asked, over := make(chan struct{}, 1), make(chan struct{})
	m := fakemaster.Start(t, func(c *fakemaster.Conn, m wire.Message) {
		switch m.(type) {
		case *wire.Run:
			c.Started() // and then it ends
		case *wire.Attach:
			asked <- struct{}{}
			<-over
		}
	})
	defer close(over)
	cmd := m.Client.Command(0, "cat")
	cmd.Stdout = io.Discard
	if err := cmd.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	copied := make(chan error, 1)
	go func() { copied <- cmd.WaitOutput() }()
	<-asked
	cmd.Leave()
	soon(t, "the end of the output", func() {
		if err := <-copied; err != nil {
			t.Log("output:", err)
		}
	})
	m.End(cmd.PID, 0)
}

// TestResizeDoesNotWait resizes the terminal of a process while its node takes nothing more.
func TestResizeDoesNotWait(t *testing.T) {
	over := make(chan struct{})
	m := fakemaster.Start(t, func(c *fakemaster.Conn, m wire.Message) {
		if _, ok := m.(*wire.Run); ok {
			c.Started()
			<-over
		}
	})
	defer close(over)
	cmd := m.Client.Command(0, "cat")
	cmd.Terminal = new(client.Terminal)
	cmd.Stdin, cmd.Stdout = bytes.NewReader(make([]byte, wire.Window)), io.Discard
	if err := cmd.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	soon(t, "a change of the size", func() {
		for i := range client.Size(1000) { // more than a connection has room for, with the input
			cmd.Resize(i + 1)
			time.Sleep(time.Millisecond)
		}
	})
	cmd.Leave()
	m.End(cmd.PID, 0)
}
