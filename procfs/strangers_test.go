package procfs

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"bproc/test/limit"
	"bproc/wire"
)

// awaiting is a view that has to know some processes.
func awaiting(t *testing.T, pids ...wire.PID) *mounted {
	t.Helper()
	m := mount(t, func(cfg *Config) {
		cfg.Awaited = func(pid wire.PID) bool { return slices.Contains(pids, pid) }
	})
	m.round() // so that no other follows for some time
	return m
}

// isYoung makes processes known that are told only with now.
func (c *cluster) isYoung(p ...Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.young.Changed = append(c.young.Changed, p...)
}

// pressed returns the number of Refreshes with now.
func (c *cluster) pressed() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nows
}

// TestYoungProcess has processes born right after nodes were asked. The first listing, and the
// first lookup, show them; nodes are not asked about local ones.
func TestYoungProcess(t *testing.T) {
	pids := ghosts(t, 3)
	m := awaiting(t, pids[0], pids[1])
	if got := m.read(pids[2], "comm"); got != "sleep\n" || m.pressed() != 0 {
		t.Errorf("a local process: got %q, nodes were pressed %d times", got, m.pressed())
	}
	m.isYoung(remote(pids[0], 'R', 1))
	if got := m.read(pids[0], "comm"); got != "worker\n" || m.pressed() != 1 {
		t.Errorf("looked up: got %q, nodes were pressed %d times", got, m.pressed())
	}
	m.isYoung(remote(pids[1], 'R', 1))
	m.names()
	if p := m.view.process(pids[1]); p == nil || m.pressed() != 2 {
		t.Errorf("listed: got %v, nodes were pressed %d times", p, m.pressed())
	}
	if got := m.read(pids[1], "comm"); got != "worker\n" || m.pressed() != 2 {
		t.Errorf("after the listing: got %q, nodes were pressed %d times", got, m.pressed())
	}
}

// TestUnknownProcess has many readers repeatedly read a ghost that no node knows: it is shown as a
// ghost, and nodes are asked now and then. In the end a node knows it.
func TestUnknownProcess(t *testing.T) {
	pid := ghosts(t, 1)[0]
	m := awaiting(t, pid)
	begin := time.Now()
	for time.Since(begin) < 3*again || m.pressed() < 2 {
		if time.Since(begin) > limit.Scaled(time.Minute) {
			t.Fatal("nodes are not pressed again")
		}
		m.names()
		if got := m.read(pid, "comm"); got != "sleep\n" {
			t.Fatalf("comm of the ghost: got %q", got)
		}
	}
	most := int(time.Since(begin)/again) + 1
	if got := m.pressed(); got > most {
		t.Errorf("nodes were pressed %d times, want %d at most", got, most)
	}
	m.tell(Changes{Changed: []Process{remote(pid, 'R', 1)}})
	eventually(t, func() error {
		if got := m.read(pid, "comm"); got != "worker\n" {
			return errors.New("comm of the process: " + got)
		}
		return nil
	})
}

// TestSilentNodesAndYoungProcess has nodes that do not answer about a ghost: a reader waits for a
// bounded time, and all readers wait for the same question.
func TestSilentNodesAndYoungProcess(t *testing.T) {
	pids := ghosts(t, 2)
	m := awaiting(t, pids...)
	release := make(chan struct{})
	m.mu.Lock()
	m.hang = release
	m.mu.Unlock()
	begin := time.Now()
	done := make(chan error, len(pids))
	for _, pid := range pids {
		go func() {
			text, err := os.ReadFile(m.file(pid, "comm"))
			if err == nil && !strings.HasPrefix(string(text), "sleep") {
				err = errors.New(string(text))
			}
			done <- err
		}()
	}
	for range pids {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if took := time.Since(begin); took < strangerTime || took > limit.Scaled(time.Minute) {
		t.Errorf("a reader has waited for %v, want %v", took, strangerTime)
	}
	close(release)
}
