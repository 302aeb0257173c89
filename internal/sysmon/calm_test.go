package sysmon

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

func slackOf(t *testing.T, tid string) time.Duration {
	t.Helper()
	text, err := os.ReadFile(slackFile(tid))
	if err != nil {
		t.Fatal(err)
	}
	ns, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(ns)
}

// TestCalm identifies the monitor by its behaviour: it is never in a system call of a goroutine,
// and stays the same thread.
func TestCalm(t *testing.T) {
	tid, err := monitor()
	if err != nil {
		t.Fatal(err)
	}
	main := strconv.Itoa(os.Getpid())
	if tid == main {
		t.Fatalf("the monitor is the main thread %s", tid)
	}
	before := slackOf(t, main)
	if err := Calm(); err != nil {
		t.Fatal(err)
	}
	if got := slackOf(t, tid); got != Slack {
		t.Errorf("slack of the monitor: %v, want %v", got, Slack)
	}
	if got := slackOf(t, main); got != before {
		t.Errorf("slack of the main thread: %v, want %v as before", got, before)
	}
}
