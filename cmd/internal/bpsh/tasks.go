package bpsh

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"bproc/internal/client"
	"bproc/nodeset"
)

// task is the position of a command among all commands.
type task struct {
	node  client.NodeID
	rank  int // among all commands
	local int // among the commands of its node
	place int // index of its node
}

// tasks returns the commands of a run, node by node.
func tasks(nodes []client.NodeID, counts []int) []task {
	var all []task
	for i, node := range nodes {
		for local := range counts[i] {
			all = append(all, task{node: node, rank: len(all), local: local, place: i})
		}
	}
	return all
}

// step is a run of commands that know their position (--tasks-per-node, srun). They get the
// variables that programs look for: those of Slurm's srun(1), of PMI, and NODES and JOBID of the
// original.
type step struct {
	nodes  []client.NodeID
	counts []int // of commands on each
	job    string
}

func newStep(nodes []client.NodeID, counts []int) *step {
	job := cmp.Or(os.Getenv("JOBID"), os.Getenv("SLURM_JOB_ID"), strconv.Itoa(os.Getpid()))
	return &step{nodes: nodes, counts: counts, job: job}
}

// shared returns the variables that all commands have in common.
func (s *step) shared() []string {
	size := 0
	names := make([]string, len(s.nodes))
	for i, node := range s.nodes {
		size += s.counts[i]
		names[i] = "n" + node.String()
	}
	list, perNode := strings.Join(names, ","), formatCounts(s.counts)
	return []string{
		"NODES=" + nodeset.Format(s.nodes),
		"JOBID=" + s.job,
		fmt.Sprintf("PMI_SIZE=%d", size),
		fmt.Sprintf("SLURM_NTASKS=%d", size),
		fmt.Sprintf("SLURM_NPROCS=%d", size),
		fmt.Sprintf("SLURM_STEP_NUM_TASKS=%d", size),
		fmt.Sprintf("SLURM_NNODES=%d", len(s.nodes)),
		fmt.Sprintf("SLURM_JOB_NUM_NODES=%d", len(s.nodes)),
		fmt.Sprintf("SLURM_STEP_NUM_NODES=%d", len(s.nodes)),
		"SLURM_TASKS_PER_NODE=" + perNode,
		"SLURM_STEP_TASKS_PER_NODE=" + perNode,
		"SLURM_JOB_NODELIST=" + list,
		"SLURM_NODELIST=" + list,
		"SLURM_STEP_NODELIST=" + list,
		"SLURM_JOB_ID=" + s.job,
		"SLURM_JOBID=" + s.job,
		"SLURM_STEP_ID=0",
	}
}

// formatCounts formats counts as Slurm's variables have them: 2(x3),1.
func formatCounts(counts []int) string {
	var parts []string
	for i := 0; i < len(counts); {
		same := i + 1
		for same < len(counts) && counts[same] == counts[i] {
			same++
		}
		part := strconv.Itoa(counts[i])
		if same-i > 1 {
			part += fmt.Sprintf("(x%d)", same-i)
		}
		parts = append(parts, part)
		i = same
	}
	return strings.Join(parts, ",")
}

// own returns the variables of one command.
func (s *step) own(t task) []string {
	return []string{
		fmt.Sprintf("PMI_RANK=%d", t.rank),
		fmt.Sprintf("SLURM_PROCID=%d", t.rank),
		fmt.Sprintf("SLURM_LOCALID=%d", t.local),
		fmt.Sprintf("SLURM_NODEID=%d", t.place),
		"SLURMD_NODENAME=n" + t.node.String(),
	}
}

// rankVariable returns the variable with a command's rank. It has a fixed width, as in the
// original, which overwrites it in place.
func rankVariable(rank int) string { return fmt.Sprintf("BPROC_RANK=%07d", rank) }

// environment is the environment of the commands.
type environment struct {
	step   *step // nil: there is none
	common []string
}

// newEnvironment returns this process's environment with the variables of a program and a step.
func newEnvironment(name string, s *step) environment {
	e := environment{step: s}
	set := []string{"BPROC_PROGNAME=" + name}
	replaced := []string{"BPROC_PROGNAME", "BPROC_RANK"}
	if s != nil {
		set = append(set, s.shared()...)
		for _, v := range append(s.shared(), s.own(task{})...) {
			replaced = append(replaced, v[:strings.IndexByte(v, '=')])
		}
	}
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); !slices.Contains(replaced, name) {
			e.common = append(e.common, v)
		}
	}
	e.common = append(e.common, set...)
	return e
}

// of returns the environment of one command.
func (e environment) of(t task) []string {
	env := append(e.common[:len(e.common):len(e.common)], rankVariable(t.rank))
	if e.step != nil {
		env = append(env, e.step.own(t)...)
	}
	return env
}
