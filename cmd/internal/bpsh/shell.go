package bpsh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"bproc/cmd/internal/release"
	"bproc/cmd/internal/terminal"
	"bproc/internal/client"
	"bproc/internal/inherited"
	"bproc/internal/onscreen"
)

// Shell is bpsh with its inputs and outputs.
type Shell struct {
	Name   string // of the command, for its messages; empty: bpsh
	Client *client.Client
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer

	// CatchAfter is how long signals keep their default actions. Zero means that bpsh catches them
	// from the beginning.
	CatchAfter time.Duration

	mu   sync.Mutex
	said map[string]bool // messages printed so far
	used used            // resources used by the commands

	terminal *terminal.Terminal // of the user, while commands have one
}

// ownDescriptors is the number of descriptors with which bpsh is normally started.
const ownDescriptors = 3

// codeFailed is the exit code of bpsh's own failures, as with ssh.
const codeFailed = 255

// Main runs bpsh with the arguments of its command line and returns its exit code. It does not
// return if bpsh must die of a signal.
func (sh *Shell) Main(ctx context.Context, args []string) int {
	begin := time.Now()
	var o options
	code, err := 0, o.parse(args)
	if err == nil {
		code, err = sh.run(ctx, &o)
	}
	if err != nil {
		sh.Say(err)
		return codeFailed
	}
	if o.time {
		fmt.Fprintf(sh.Stderr, "%.6f%s\n", time.Since(begin).Seconds(), &sh.used)
	}
	return code
}

func (sh *Shell) run(ctx context.Context, o *options) (int, error) {
	switch {
	case o.help:
		_, err := fmt.Fprint(sh.Stdout, usage, o.flags().FlagUsages())
		return 0, err
	case o.version:
		_, err := fmt.Fprintf(sh.Stdout, "bpsh %s\n", release.Version())
		return 0, err
	}
	nodes, err := sh.Nodes(ctx, o.nodes)
	if err != nil {
		return 0, err
	}
	if len(nodes) == 0 {
		sh.Say(fmt.Errorf("no node is %s: nothing is run", o.nodes))
		return 0, nil
	}
	return sh.runOn(ctx, o, nodes)
}

// runOn runs the command on nodes and returns its exit code.
func (sh *Shell) runOn(ctx context.Context, o *options, nodes []client.NodeID) (int, error) {
	// Launchers leave many descriptors open. A surviving ghost would hold the other ends of their
	// pipes open.
	if err := inherited.CloseOnExec(ownDescriptors); err != nil {
		return 0, err
	}
	s := newSession(sh, o, nodes)
	code := s.run(ctx)
	sh.used = s.usage()
	return code, nil
}

// tableTimeout bounds the request for the node table.
const tableTimeout = 10 * time.Second

// Nodes returns the nodes of a specification.
func (sh *Shell) Nodes(ctx context.Context, spec string) ([]client.NodeID, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, tableTimeout, errors.New("the master does not answer"))
	defer cancel()
	return sh.Client.Resolve(ctx, spec)
}

// Say prints a message, once.
func (sh *Shell) Say(err error) {
	line := fmt.Sprintf("%s: %s\n", cmp.Or(sh.Name, "bpsh"), onscreen.Text(err.Error()))
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.said[line] {
		return
	}
	if sh.said == nil {
		sh.said = map[string]bool{}
	}
	sh.said[line] = true
	if sh.terminal.IsRaw() && terminal.Of(sh.Stderr) != nil {
		line = strings.ReplaceAll(line, "\n", "\r\n")
	}
	_, _ = io.WriteString(sh.Stderr, line)
}
