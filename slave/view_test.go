package slave

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bproc/test/limit"
)

// TestViewHangs: a process that needs the view is refused in time if nobody takes its request.
func TestViewHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newView(Config{}, 1, slog.New(slog.DiscardHandler))
		if err := v.need(); !errors.Is(err, errNoView) {
			t.Errorf("got %v, want %v", err, errNoView)
		}
	})
}

// TestViewIsNeverMounted has a view start that mounts nothing. It is killed, and the next process
// that needs the view has it started again.
func TestViewIsNeverMounted(t *testing.T) {
	dir := t.TempDir()
	starts, program := filepath.Join(dir, "starts"), filepath.Join(dir, "bpprocfs")
	script := "#!/bin/sh\necho start >>" + starts + "\nread end <&4\n" // until its life ends
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	v := newView(Config{View: program, Runtime: filepath.Join(dir, "run")}, 1, slog.New(slog.DiscardHandler))
	v.within = 100 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = v.run(ctx) })
	defer running.Wait()
	defer cancel()
	deadline := time.Now().Add(limit.Scaled(30 * time.Second))
	for {
		if err := v.need(); !errors.Is(err, errNoView) {
			t.Fatalf("got %v, want %v", err, errNoView)
		}
		text, err := os.ReadFile(starts)
		if err == nil && strings.Count(string(text), "start") > 2 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the view is not started again: %q, %v", text, err)
		}
	}
}

// TestViewForgets checks that processes that have given up do not pile up.
func TestViewForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var waiting []waiter
		for range 100 {
			waiting = append(stillThere(waiting), waiter{until: time.Now().Add(mountTime)})
			time.Sleep(mountTime / 4)
		}
		if len(waiting) > 5 {
			t.Errorf("%d processes wait, want at most 5", len(waiting))
		}
	})
}
