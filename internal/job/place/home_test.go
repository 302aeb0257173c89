package place_test

import (
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
		home, _, err := p.Settle(func(id *wire.NodeID) (wire.NodeID, error) {
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
