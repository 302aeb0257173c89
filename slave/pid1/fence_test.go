package pid1_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"bproc/pidmap"
	"bproc/wire"
)

// Without a daemon the numbers of new processes stay within the fence. With one they
// go on, for it moves the cursor.
func TestFence(t *testing.T) {
	s := newSpace(t)
	const first, count = int(pidmap.Node) + 1000, 2000
	dir := t.TempDir()
	// One birth for each line: half as many again as there are numbers.
	script := "while ! test -e " + dir + "/go; do sleep 0.01; done; " +
		"i=0; while [ $i -lt 3000 ]; do (read p rest </proc/self/stat; echo $p); i=$((i+1)); done >" + dir + "/numbers; touch " + dir + "/done"
	s.send(&wire.InitCursor{Next: wire.PID(first)})
	s.send(&wire.InitFence{First: wire.PID(first), End: wire.PID(first + count)})
	s.launch(command(70001, 0, 0, "sh", "-c", script))
	if err := s.conn.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for !s.ended(70001) {
		continue
	}
	text, err := os.ReadFile(filepath.Join(dir, "numbers"))
	if err != nil {
		t.Fatal(err)
	}
	numbers := strings.Fields(string(text))
	wrapped := false
	last := 0
	for _, field := range numbers {
		n, err := strconv.Atoi(field)
		if err != nil || n < first || n >= first+count {
			t.Fatalf("number %q, %v, want one from %d to %d", field, err, first, first+count-1)
		}
		wrapped = wrapped || n < last
		last = n
	}
	if len(numbers) != 3000 || !wrapped {
		t.Errorf("%d numbers, of which the cursor went back %v", len(numbers), wrapped)
	}
	s.connect()
	s.awaitStatus(70001, over)
}
