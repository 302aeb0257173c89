package place_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"bproc/internal/job/place"
	"bproc/wire"
)

// TestSettle lets processes of a job settle on nodes.
func TestSettle(t *testing.T) {
	p := process(t)
	lock, err := p.Supervise() // makes the directory
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	file := filepath.Join(filepath.Dir(p.PIDFile()), ".home")
	settle := func(others bool, node wire.NodeID) (*place.Home, time.Time) {
		t.Helper()
		home, _, err := p.Settle(t.Context(), func(id *wire.NodeID) (wire.NodeID, error) {
			if (id != nil) != others {
				t.Errorf("others: got %v, want %v", id, others)
			}
			return node, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(file); err != nil || string(b) != node.String() {
			t.Errorf("got %q, %v, want node %v", b, err, node)
		}
		return home, info.ModTime()
	}
	first, _ := settle(false, 345)
	first.Close()
	second, _ := settle(false, 12)
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(file, old, old); err != nil {
		t.Fatal(err)
	}
	third, at := settle(true, 12)
	if time.Since(at) < time.Minute { // on a full disk its text would be lost
		t.Error("the file was written, though the node is the same")
	}
	second.Close()
	third.Close()
}

// TestTurnEnds checks that one who waits for another's choice can be told to stop.
func TestTurnEnds(t *testing.T) {
	p := process(t)
	lock, err := p.Supervise()
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	reason := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	first, _, err := p.Settle(t.Context(), func(*wire.NodeID) (wire.NodeID, error) {
		time.AfterFunc(20*time.Millisecond, func() { cancel(reason) })
		_, _, err := p.Settle(ctx, func(*wire.NodeID) (wire.NodeID, error) {
			t.Error("two choose at a time")
			return 0, nil
		})
		if !errors.Is(err, reason) {
			t.Errorf("got %v", err)
		}
		return 0, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	first.Close()
}
