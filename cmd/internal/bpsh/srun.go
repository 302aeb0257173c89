package bpsh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"bproc/cmd/internal/flags"
	"bproc/cmd/internal/release"
	"bproc/internal/client"
)

// srunOptions are the options of srun's command line.
type srunOptions struct {
	options
	nodeCount  string // N, or MIN-MAX
	tasks      int
	perNode    int
	nodelist   string
	exclude    string
	constraint string
	input      string
	limit      string
	mpi        string
	export     string
	killOn     string
}

const srunUsage = `Run a command on nodes of the cluster, with the options of Slurm's srun

Usage:
  srun [options] command [argument ...]

Flags:
`

const srunFooter = `
Options of Slurm about accounts, partitions, processors, memory and other resources are accepted
and have no effect.
`

func (o *srunOptions) flags() *pflag.FlagSet {
	f := pflag.NewFlagSet("srun", pflag.ContinueOnError)
	f.SetInterspersed(false)
	f.SortFlags = false
	f.StringVarP(&o.nodeCount, "nodes", "N", "", "how many nodes (`number`, or least-most)")
	f.IntVarP(&o.tasks, "ntasks", "n", 0, "how many commands (`number`)")
	f.IntVar(&o.perNode, "ntasks-per-node", 0, "at most so many on each node (`number`)")
	f.StringVarP(&o.nodelist, "nodelist", "w", "", "on these nodes, as n[0-3,7], or as bpsh(1) has them (`list`)")
	f.StringVarP(&o.exclude, "exclude", "x", "", "not on these nodes (`list`)")
	f.StringVarP(&o.constraint, "constraint", "C", "", "on nodes with these tags (`tag&tag`)")
	f.BoolVarP(&o.label, "label", "l", false, "whole lines, each after the rank of its command")
	f.StringVarP(&o.killOn, "kill-on-bad-exit", "K", "0", "end all commands when one has failed (`0 or 1`)")
	f.Lookup("kill-on-bad-exit").NoOptDefVal = "1"
	for _, digit := range []string{"0", "1"} { // for -K0 and -K1
		name := "kill-on-bad-exit-" + digit
		f.BoolFuncP(name, digit, "", func(string) error { return f.Set("kill-on-bad-exit", digit) })
		f.Lookup(name).Hidden = true
	}
	f.StringVarP(&o.input, "input", "i", "all", "standard input is for all, none, or the command of this rank (`who`)")
	f.StringVarP(&o.limit, "time", "t", "", "end commands that run longer (`minutes`, or h:m:s)")
	f.StringVarP(&o.dir, "chdir", "D", "", "working `directory`")
	f.BoolVar(&o.terminal, "pty", false, "the command gets a terminal")
	f.StringVar(&o.mpi, "mpi", "none", "none: there is no server of PMI (`type`)")
	f.StringVar(&o.export, "export", "ALL", "ALL: the whole environment goes along (`variables`)")
	f.BoolVarP(&o.version, "version", "V", false, "print the version")
	f.BoolVarP(&o.help, "help", "h", false, "print this help")
	others(f)
	return f
}

// Srun runs bpsh under the name srun with the arguments of its command line, and returns its exit
// code.
func (sh *Shell) Srun(ctx context.Context, args []string) int {
	sh.Name = "srun"
	var o srunOptions
	f := o.flags()
	err := f.Parse(args)
	if err != nil {
		err = flags.Explain(err)
	} else if o.help || o.version {
		text := fmt.Sprintf("srun (bproc) %s\n", release.Version())
		if o.help {
			text = srunUsage + f.FlagUsages() + srunFooter
		}
		if _, err = io.WriteString(sh.Stdout, text); err == nil {
			return 0
		}
	}
	var nodes []client.NodeID
	if err == nil {
		err = rejectZeros(f, "ntasks", "ntasks-per-node")
	}
	if err == nil {
		err = o.complete(f.Args())
	}
	if err == nil {
		nodes, err = sh.Nodes(ctx, o.spec())
	}
	if err == nil {
		nodes, err = o.layOut(nodes)
	}
	if err != nil {
		sh.Say(err)
		return codeFailed
	}
	code, err := sh.runOn(ctx, &o.options, nodes)
	if err != nil {
		sh.Say(err)
		return codeFailed
	}
	return code
}

// complete checks the values of options and derives the options of bpsh from them.
func (o *srunOptions) complete(args []string) (err error) {
	o.argv, o.lineLength = args, maxLine
	if n, convErr := strconv.Atoi(os.Getenv("SLURM_NTASKS")); o.tasks == 0 && convErr == nil {
		o.tasks = n
	}
	if o.nodeCount == "" && o.nodelist == "" { // of a list as many as there are
		o.nodeCount = os.Getenv("SLURM_NNODES")
	}
	if err := o.possible(); err != nil {
		return err
	}
	o.failFast = o.killOn == "1"
	if o.timeout, err = slurmTime(o.limit); err != nil {
		return fmt.Errorf("--time=%s: %w", o.limit, err)
	}
	switch rank, convErr := strconv.Atoi(o.input); {
	case o.input == "none":
		o.noInput = true
	case o.input != "all" && (convErr != nil || rank < 0):
		return fmt.Errorf("--input=%s: all, none or a rank", o.input)
	case o.input != "all":
		o.reader = &rank
	}
	return o.consistent()
}

// possible rejects options of srun that ask for missing features.
func (o *srunOptions) possible() error {
	switch {
	case len(o.argv) == 0:
		return errors.New("no command given")
	case o.mpi != "none":
		return fmt.Errorf("--mpi=%s: there is no server of PMI here; start MPI programs by mpirun or mpiexec", o.mpi)
	case o.export != "ALL":
		return fmt.Errorf("--export=%s: the whole environment goes along; env(1) changes it", o.export)
	case o.killOn != "0" && o.killOn != "1":
		return fmt.Errorf("--kill-on-bad-exit=%s: 0 or 1", o.killOn)
	case o.tasks < 0 || o.perNode < 0 || o.tasks > maxTasks || o.perNode > maxTasks:
		return fmt.Errorf("there are 1 to %d commands", maxTasks)
	}
	return nil
}

// spec returns the candidate nodes as a specification of bpsh. The environment names the nodes of
// an allocation.
func (o *srunOptions) spec() string {
	spec := o.nodelist
	for _, name := range []string{"SLURM_JOB_NODELIST", "SLURM_NODELIST", "NODES"} {
		if spec == "" {
			spec = os.Getenv(name)
		}
	}
	if spec == "" {
		spec = "allup"
	}
	spec = "(" + expandHosts(spec) + ")"
	for tag := range strings.SplitSeq(o.constraint, "&") {
		if tag != "" {
			spec += "&tag:" + tag
		}
	}
	if o.exclude != "" {
		spec += "&!(" + expandHosts(o.exclude) + ")"
	}
	return spec
}

// layOut chooses nodes and counts the commands of each. The first nodes get one more if the number
// is not divisible, as with Slurm's block distribution.
func (o *srunOptions) layOut(from []client.NodeID) ([]client.NodeID, error) {
	least, most, err := o.nodeRange(from)
	if err != nil {
		return nil, err
	}
	if o.tasks > 0 {
		least = min(least, o.tasks) // more nodes would have no command
	}
	var nodes []client.NodeID
	for _, node := range from {
		if len(nodes) < most && !slices.Contains(nodes, node) {
			nodes = append(nodes, node)
		}
	}
	if len(nodes) < max(least, 1) {
		return nil, fmt.Errorf("%d nodes are asked for, and there are %d", max(least, 1), len(nodes))
	}
	tasks := o.tasks
	if tasks == 0 {
		tasks = len(nodes) * max(o.perNode, 1)
	}
	if o.perNode > 0 && tasks > len(nodes)*o.perNode {
		return nil, fmt.Errorf("%d commands are too many for %d nodes with %d each", tasks, len(nodes), o.perNode)
	}
	nodes = nodes[:min(len(nodes), tasks)]
	for i := range nodes {
		count := tasks / len(nodes)
		if i < tasks%len(nodes) {
			count++
		}
		o.counts = append(o.counts, count)
	}
	if o.reader != nil && *o.reader >= tasks {
		return nil, fmt.Errorf("--input=%d: there are %d commands", *o.reader, tasks)
	}
	return nodes, nil
}

// nodeRange returns the least and the largest number of nodes. Without --nodes, a node list means
// all its nodes; otherwise there are as few nodes as possible, with one command each unless more
// are asked for.
func (o *srunOptions) nodeRange(from []client.NodeID) (least, most int, err error) {
	if o.nodeCount != "" {
		first, last, isRange := strings.Cut(o.nodeCount, "-")
		if !isRange {
			last = first
		}
		least, err = strconv.Atoi(first)
		most, lastErr := strconv.Atoi(last)
		if err != nil || lastErr != nil || least < 1 || most < least {
			return 0, 0, fmt.Errorf("--nodes=%s: a number, or two as in 2-4", o.nodeCount)
		}
		return least, most, nil
	}
	if o.nodelist != "" {
		return 1, len(from), nil
	}
	each := max(o.perNode, 1)
	return 1, max((o.tasks+each-1)/each, 1), nil
}

// slurmTime reads a time of Slurm: minutes, m:s, h:m:s, d-h, d-h:m or d-h:m:s, or a word for no
// limit. One that is longer than a Duration can be, 292 years, is none, too.
func slurmTime(text string) (time.Duration, error) {
	switch strings.ToUpper(text) {
	case "", "UNLIMITED", "INFINITE":
		return 0, nil
	}
	units := []time.Duration{time.Minute, time.Second}
	days, rest, hasDays := strings.Cut(text, "-")
	if !hasDays {
		days, rest = "0", text
	}
	parts := strings.Split(rest, ":")
	if hasDays || len(parts) == 3 {
		units = []time.Duration{time.Hour, time.Minute, time.Second}
	}
	n, err := strconv.ParseUint(days, 10, 16)
	total, tooLong := time.Duration(n)*24*time.Hour, false // 16 bits of days are not
	for i, part := range parts {
		n, partErr := strconv.ParseUint(part, 10, 32)
		if partErr != nil || i >= len(units) {
			err = errors.New("minutes, h:m:s or days-h:m:s")
			break
		}
		most := (math.MaxInt64 - total) / units[i]
		if tooLong = tooLong || time.Duration(n) > most; !tooLong {
			total += time.Duration(n) * units[i]
		}
	}
	switch {
	case err != nil:
		return 0, err
	case tooLong:
		return 0, nil
	}
	return total, nil
}
