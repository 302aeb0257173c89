package master

import (
	"context"
	"os/exec"
	"testing"

	"bproc/wire"
)

// TestClientEnds has a client leave many processes before it ends: one wait serves all.
func TestClientEnds(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	client := wire.PID(cmd.Process.Pid)
	var e clientEnds
	const processes = 2 * maxClientEnds
	told := make(chan error, processes+1)
	for range processes {
		if !e.follow(t.Context(), client, func(err error) { told <- err }) {
			t.Fatal("there is no room for another process of a client")
		}
	}
	e.mu.Lock()
	n := len(e.waiting)
	e.mu.Unlock()
	if n != 1 || len(told) != 0 {
		t.Errorf("%d waits, %d processes told before the end", n, len(told))
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	e.group.Wait()
	if !e.follow(t.Context(), client, func(err error) { told <- err }) {
		t.Error("there is no room after the end")
	}
	e.group.Wait()
	if len(told) != processes+1 || len(e.waiting) != 0 {
		t.Errorf("%d were told, want %d; %d waits are left", len(told), processes+1, len(e.waiting))
	}
	for range len(told) {
		if err := <-told; err != nil {
			t.Fatal(err)
		}
	}
}

// TestClientEndsEnd ends the master while it waits for a client.
func TestClientEndsEnd(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
	ctx, cancel := context.WithCancel(t.Context())
	var e clientEnds
	var told error
	e.follow(ctx, wire.PID(cmd.Process.Pid), func(err error) { told = err })
	cancel()
	if e.group.Wait(); told == nil {
		t.Error("a client that lives has ended")
	}
}

// TestManyClientEnds fills the table of waits.
func TestManyClientEnds(t *testing.T) {
	e := clientEnds{waiting: map[wire.PID][]func(error){}}
	for i := range maxClientEnds {
		e.waiting[wire.PID(-i)] = nil
	}
	if e.follow(t.Context(), 1, func(error) { t.Error("told") }) {
		t.Error("there is room for ever more waits")
	}
}
