package cluster_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"bproc/test/cluster"
)

// mpiProgram compiles testdata/ranks.c for Open MPI.
func mpiProgram(t *testing.T) string {
	t.Helper()
	command, err := exec.CommandContext(t.Context(), "mpicc.openmpi", "--showme").Output()
	if err != nil {
		t.Fatalf("mpicc.openmpi: %v", err)
	}
	return cluster.Program(t, "testdata/ranks.c", strings.Fields(string(command))[1:]...) // without the compiler's name
}

// TestMPI has launchers of MPI start two ranks on each of two nodes, as docs/launchers.md
// describes.
func TestMPI(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	n0, n1 := c.Nodes[0].Name, c.Nodes[1].Name
	const openMPI = "mpirun.openmpi --allow-run-as-root --mca plm_rsh_agent $(command -v bprsh) --host n0:2,n1:2 -np 4 "
	const hydra = "mpiexec.hydra -launcher ssh -launcher-exec $(command -v bprsh) -hosts n0,n1 -ppn 2 -n 4 "
	const place = `sh -c 'echo $PMI_RANK/$PMI_SIZE on $(hostname)%s' </dev/null`
	ranks := openMPI + mpiProgram(t)
	sums, places := make([]string, 4), make([]string, 4)
	for rank, node := range []string{n0, n0, n1, n1} {
		places[rank] = fmt.Sprintf("%d/4 on %s", rank, node)
		sums[rank] = places[rank] + ": sum 6, token "
		sums[rank] += fmt.Sprint(map[bool]int{true: 4, false: rank + 1}[rank == 0])
	}
	summed, placed := strings.Join(sums, "\n"), strings.Join(places, "\n")
	for _, tt := range []struct {
		name string
		line string
		want string // sorted
		code int
	}{
		{"Open MPI", ranks, summed, 0},
		{"Open MPI, exit 3", ranks + " 3", summed, 3},
		{"Open MPI, a rank is killed", ranks + " 0 2", summed, 137},
		{"hydra", hydra + fmt.Sprintf(place, ""), placed, 0},
		{"hydra by srun", strings.Replace(hydra, "-launcher ssh -launcher-exec $(command -v bprsh)", "-launcher slurm -launcher-exec $(command -v srun)", 1) + fmt.Sprintf(place, "; exit 3"), placed, 3},
		{"hydra, exit 3", hydra + fmt.Sprintf(place, "; exit 3"), placed, 3},
		// With several processes hydra may take the end of its own proxies for a failure, or wait
		// for ever.
		{"hydra, a process is killed", "mpiexec.hydra -launcher ssh -launcher-exec $(command -v bprsh) -hosts n1 -n 1 sh -c 'kill -9 $$' </dev/null >/dev/null", "", 9},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, code := launch(t, c, tt.line)
			if got := sortedLines(out); got != tt.want || code != tt.code {
				t.Errorf("got code %d, %q, want %d, %q", code, got, tt.code, tt.want)
			}
			wantIdle(t, c)
		})
	}
}
