package cluster_test

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"bproc/internal/recording"
	master "bproc/master/core"
	slave "bproc/slave/core"
	"bproc/test/cluster"
	"bproc/wire"
)

// TestRecordings has daemons record their inputs, and gives these to other cores: the outputs must
// be those of the daemons.
func TestRecordings(t *testing.T) {
	t.Parallel()
	const dir = cluster.StateDir + "/inputs"
	record := []string{"--record", dir}
	c := cluster.Start(t, cluster.Config{Nodes: 2, MasterArgs: record, SlaveArgs: record})
	res, err := c.Front.Exec(t.Context(), cluster.Alice, "bpsh", "1", "sh", "-c", "sleep 0.1 & wait; exit 7")
	if err != nil || res.Code != 7 {
		t.Fatalf("got %+v, %v, want exit code 7", res, err)
	}
	if err := c.Slaves[1].Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.StartSlave(t.Context(), 1, record...); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitUp(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := c.Master.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	outputs := replay(t, c.Front, dir, new(master.Recorded))
	for _, want := range []string{"Started {", fmt.Sprintf(`"Type":%d,`, wire.TypeGhostAdopt), fmt.Sprintf(`"Type":%d,`, wire.TypeGhostExit)} {
		if !strings.Contains(outputs, want) {
			t.Errorf("the master replayed puts out nothing with %s", want)
		}
	}
	if outputs = replay(t, c.Nodes[1], dir, new(slave.Recorded)); !strings.Contains(outputs, "1792") { // status of exit code 7
		t.Error("the slave replayed tells of no such end")
	}
}

// replay returns the outputs of a core for the inputs that a machine has recorded.
func replay(t *testing.T, m *cluster.Machine, dir string, core recording.Machine) string {
	t.Helper()
	path, err := m.Path(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []io.Reader
	for _, file := range recording.Paths(path) {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		all = append(all, f)
	}
	var text, outputs strings.Builder
	if whole, err := recording.Replay(io.MultiReader(all...), &text, core); err != nil || !whole {
		t.Fatal(whole, err)
	}
	for line := range strings.Lines(text.String()) {
		if strings.HasPrefix(line, "\t") {
			outputs.WriteString(line)
		}
	}
	return outputs.String()
}
