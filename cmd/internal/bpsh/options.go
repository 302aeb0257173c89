package bpsh

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"time"

	"github.com/spf13/pflag"

	"bproc/cmd/internal/flags"
)

// options are the options and operands of the command line.
type options struct {
	noInput    bool
	noIO       bool
	lineBuffer bool
	prefix     bool
	sequential bool
	divider    bool
	group      bool
	json       bool
	lineLength int
	stdin      string
	stdout     string
	stderr     string
	allUp      bool
	allNotDown bool
	frontEnd   bool
	timeout    time.Duration
	failFast   bool
	perNode    int // commands on each node; 0: one, without the variables of a step
	time       bool
	procfs     bool
	terminal   bool
	login      string
	shell      string // executed instead of the first of argv, if it is set
	version    bool
	help       bool

	nodes string   // node specification
	argv  []string // command and arguments

	// Options of srun.
	counts []int  // commands on each node
	label  bool   // whole lines, each after the rank
	reader *int   // the rank that has standard input; nil: all ranks
	dir    string // working directory
}

const usage = `Run a command on nodes of the cluster

Usage:
  bpsh [options] nodes command [argument ...]
  bpsh [options] -a | -A | -1 command [argument ...]

nodes is a list such as 3, 0-4,7, up, all, !down, n3, tag:gpu or random:2/up: see bpsh(1).

Flags:
`

// parse parses a command line. It does without package cobra, which the other commands use: cobra
// makes the program larger and its start longer.
func (o *options) parse(args []string) error {
	f := o.flags()
	if err := f.Parse(args); err != nil {
		return flags.Explain(err)
	}
	if err := flags.Given(f); err != nil {
		return err
	}
	if err := rejectZeros(f, "tasks-per-node"); err != nil {
		return err
	}
	return o.operands(f.Args())
}

// rejectZeros returns an error if an option that counts commands was given as 0, which stands for an option
// that was not given.
func rejectZeros(f *pflag.FlagSet, names ...string) error {
	for _, name := range names {
		if f.Changed(name) && f.Lookup(name).Value.String() == "0" {
			return fmt.Errorf("--%s 0: a number from 1 to %d", name, maxTasks)
		}
	}
	return nil
}

// flags returns the option set.
func (o *options) flags() *pflag.FlagSet {
	f := pflag.NewFlagSet("bpsh", pflag.ContinueOnError)
	f.SetInterspersed(false)
	f.SortFlags = false
	f.BoolVarP(&o.noInput, "no-input", "n", false, "standard input is /dev/null")
	f.BoolVarP(&o.noIO, "no-io", "N", false, "standard input and outputs are /dev/null")
	f.BoolVarP(&o.lineBuffer, "line-buffer", "L", false, "pass on whole lines")
	f.BoolVarP(&o.prefix, "prefix", "p", false, "whole lines, each after the number of its node")
	f.BoolVarP(&o.sequential, "sequential", "s", false, "output of one node after the other")
	f.BoolVarP(&o.divider, "divider", "d", false, "as -s, with a line before each node's output")
	f.BoolVarP(&o.group, "group", "g", false, "at the end, output that is the same once, after its nodes")
	f.BoolVar(&o.json, "json", false, "one line of JSON for each command when it has ended")
	f.IntVarP(&o.lineLength, "buffer", "b", 4096, "with -L and -p: longest line, in bytes")
	f.StringVarP(&o.stdin, "stdin", "I", "", "standard input is this `file` of the node")
	f.StringVarP(&o.stdout, "stdout", "O", "", "standard output is this `file` of the node")
	f.StringVarP(&o.stderr, "stderr", "E", "", "standard error is this `file` of the node")
	f.BoolVarP(&o.allUp, "all-up", "a", false, "on all nodes that are up")
	f.BoolVarP(&o.allNotDown, "all-not-down", "A", false, "on all nodes that are not down")
	f.BoolVarP(&o.frontEnd, "front-end", "1", false, "on the front end")
	f.DurationVar(&o.timeout, "timeout", 0, "end commands that run longer than this `time`")
	f.BoolVarP(&o.failFast, "fail-fast", "k", false, "end all commands when one has failed")
	f.IntVar(&o.perNode, "tasks-per-node", 0, "run the command so often on each node (`number`)")
	f.BoolVarP(&o.time, "time", "t", false, "print what time and memory it took on standard error")
	f.BoolVarP(&o.terminal, "terminal", "T", false, "the command gets a terminal on its node")
	f.BoolVar(&o.procfs, "procfs", false, "the command sees the processes of the whole cluster in /proc")
	f.StringVarP(&o.login, "login", "l", "", "ignored, for compatibility with rsh (`user`)")
	f.BoolVarP(&o.version, "version", "v", false, "print the version")
	f.BoolVarP(&o.help, "help", "h", false, "print this help")
	return f
}

// operands parses the operands.
func (o *options) operands(args []string) error {
	if o.version || o.help {
		return nil
	}
	given := 0
	for _, choice := range []struct {
		given bool
		nodes string
	}{{o.allUp, "allup"}, {o.allNotDown, "allnotdown"}, {o.frontEnd, "master"}} {
		if choice.given {
			given++
			o.nodes = choice.nodes
		}
	}
	switch {
	case given > 1:
		return errors.New("-a, -A and -1 exclude each other")
	case given == 0 && len(args) == 0:
		return errors.New("no nodes given; --help says how")
	case given == 0:
		o.nodes, args = args[0], args[1:]
	}
	switch {
	case len(args) > 0:
		o.argv = args
	case o.terminal:
		o.shell = cmp.Or(os.Getenv("SHELL"), "/bin/sh")
		o.argv = []string{"-" + path.Base(o.shell)} // a login shell
	default:
		return errors.New("no command given; --help says how")
	}
	return o.consistent()
}

// maxTasks bounds the commands on each node. Each of them is a process on the front end.
const maxTasks = 1 << 16

// consistent rejects combinations of options that make no sense, and values out of range.
func (o *options) consistent() error {
	lines := o.lineBuffer || o.prefix || o.sequential || o.divider
	switch {
	case o.group && o.json, (o.group || o.json) && lines:
		return errors.New("--group and --json exclude each other, and -L, -p, -s and -d")
	case o.terminal && (o.group || o.json):
		return errors.New("-T excludes --group and --json: output is the terminal")
	case o.terminal && (o.noInput || o.noIO || o.stdin+o.stdout+o.stderr != ""):
		return errors.New("-T excludes -n, -N, -I, -O and -E: standard input and outputs are the terminal")
	}
	return o.inRange()
}

// inRange rejects numbers that are too small or too large.
func (o *options) inRange() error {
	switch {
	case o.timeout < 0:
		return fmt.Errorf("--timeout %v: a time is not negative", o.timeout)
	case o.perNode < 0 || o.perNode > maxTasks:
		return fmt.Errorf("--tasks-per-node %d: a number from 1 to %d", o.perNode, maxTasks)
	case o.lineLength < 1 || o.lineLength > maxLine:
		return fmt.Errorf("-b %d: a line has 1 to %d bytes", o.lineLength, maxLine)
	}
	return nil
}
