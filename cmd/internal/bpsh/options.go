package bpsh

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// options are what the command line says.
type options struct {
	noInput    bool
	noIO       bool
	lineBuffer bool
	prefix     bool
	sequential bool
	divider    bool
	lineLength int
	stdin      string
	stdout     string
	stderr     string
	allUp      bool
	allNotDown bool
	frontEnd   bool
	time       bool
	login      string
	version    bool

	nodes string   // node specification
	argv  []string // command and arguments
}

const usageLine = `bpsh [options] nodes command [argument ...]
  bpsh [options] -a | -A | -1 command [argument ...]`

// command returns the command line's parser. run is called with the operands in
// the options.
func (o *options) command(run func() error) *cobra.Command {
	cmd := &cobra.Command{
		Use:                   usageLine,
		Short:                 "Run a command on nodes of the cluster",
		DisableFlagsInUseLine: true,
		SilenceErrors:         true,
		SilenceUsage:          true,
		Args:                  func(_ *cobra.Command, args []string) error { return o.operands(args) },
		RunE:                  func(*cobra.Command, []string) error { return run() },
	}
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.SortFlags = false
	f.BoolVarP(&o.noInput, "no-input", "n", false, "standard input is /dev/null")
	f.BoolVarP(&o.noIO, "no-io", "N", false, "standard input and outputs are /dev/null")
	f.BoolVarP(&o.lineBuffer, "line-buffer", "L", false, "pass on whole lines")
	f.BoolVarP(&o.prefix, "prefix", "p", false, "whole lines, each after the number of its node")
	f.BoolVarP(&o.sequential, "sequential", "s", false, "output of one node after the other")
	f.BoolVarP(&o.divider, "divider", "d", false, "as -s, with a line before each node's output")
	f.IntVarP(&o.lineLength, "buffer", "b", 4096, "with -L and -p: longest line, in bytes")
	f.StringVarP(&o.stdin, "stdin", "I", "", "standard input is this `file` of the node")
	f.StringVarP(&o.stdout, "stdout", "O", "", "standard output is this `file` of the node")
	f.StringVarP(&o.stderr, "stderr", "E", "", "standard error is this `file` of the node")
	f.BoolVarP(&o.allUp, "all-up", "a", false, "on all nodes that are up")
	f.BoolVarP(&o.allNotDown, "all-not-down", "A", false, "on all nodes that are not down")
	f.BoolVarP(&o.frontEnd, "front-end", "1", false, "on the front end")
	f.BoolVarP(&o.time, "time", "t", false, "print the elapsed time in seconds on standard error")
	f.StringVarP(&o.login, "login", "l", "", "ignored, for compatibility with rsh (`user`)")
	f.BoolVarP(&o.version, "version", "v", false, "print the version")
	f.BoolP("help", "h", false, "print this help")
	return cmd
}

// operands takes what follows the options.
func (o *options) operands(args []string) error {
	if o.version {
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
		return errors.New("no nodes given")
	case given == 0:
		o.nodes, args = args[0], args[1:]
	}
	if len(args) == 0 {
		return errors.New("no command given")
	}
	if o.lineLength < 1 || o.lineLength > maxLine {
		return fmt.Errorf("-b %d: a line has 1 to %d bytes", o.lineLength, maxLine)
	}
	o.argv = args
	return nil
}
