package bpcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"bproc/cmd/internal/printed"
	"bproc/cmd/internal/release"
	"bproc/internal/client"
	"bproc/internal/inherited"
	"bproc/internal/onscreen"
)

// Copier is bpcp with its inputs and outputs.
type Copier struct {
	Client   *client.Client
	Stdout   io.Writer
	Stderr   io.Writer
	Terminal *Terminal // the terminal that Stderr is; nil if it is none

	// Program is the program to execute on nodes. If empty, it is this program's path.
	Program string

	mu    sync.Mutex
	said  map[string]bool // messages printed so far
	meter *meter
	bad   bool // something could not be copied
}

// Exit codes.
const (
	codeSome    = 1 // something could not be copied
	codeNothing = 2 // no copy was tried
)

// ownDescriptors is the number of descriptors with which bpcp is normally started.
const ownDescriptors = 3

// Main runs bpcp with the arguments of its command line and returns its exit code. It does not
// return if bpcp must die of a signal.
func (c *Copier) Main(ctx context.Context, args []string) int {
	var o options
	code := 0
	cmd := o.command(func() (err error) {
		code, err = c.run(ctx, &o)
		return err
	})
	cmd.SetArgs(args)
	cmd.SetErr(c.Stderr)
	if err := printed.Execute(ctx, cmd, &printed.Output{To: c.Stdout}); err != nil {
		fmt.Fprintf(c.Stderr, "bpcp: %s\n", onscreen.Line(err.Error()))
		return codeNothing
	}
	return code
}

func (c *Copier) run(ctx context.Context, o *options) (int, error) {
	switch {
	case o.version:
		_, err := fmt.Fprintf(c.Stdout, "bpcp %s\n", release.Version())
		return 0, err
	case o.agent:
		return 0, takePart(ctx)
	}
	// A surviving ghost would hold the other ends of a launcher's pipes open.
	if err := inherited.CloseOnExec(ownDescriptors); err != nil {
		return 0, err
	}
	p, err := c.plan(ctx, o)
	if err != nil {
		return 0, err
	}
	ctx, caught := catch(ctx)
	defer caught.stop()
	c.meter = newMeter(c.Terminal, len(p.sources))
	c.copy(ctx, p)
	c.mu.Lock()
	c.meter.clear()
	c.mu.Unlock()
	caught.dieOf(ctx)
	if c.bad {
		return codeSome, nil
	}
	return 0, nil
}

// atOnce is how many machines send at the same time.
const atOnce = 8

// copy makes all transfers.
func (c *Copier) copy(ctx context.Context, p *plan) {
	turns := make(chan struct{}, atOnce)
	var group sync.WaitGroup
	for i := range p.sources {
		turns <- struct{}{}
		group.Go(func() {
			c.transfer(ctx, p, i)
			<-turns
		})
	}
	group.Wait()
}

// rounds bounds how often machines are served again that have lost the stream because another
// machine failed.
const rounds = 8

// slowAtOnce is how many machines that have held up others are served at the same time.
const slowAtOnce = 32

// transfer copies the files of one machine.
func (c *Copier) transfer(ctx context.Context, p *plan, source int) {
	turns := make(chan struct{}, slowAtOnce)
	var group sync.WaitGroup
	for _, node := range c.serve(ctx, p, source, p.targets) {
		turns <- struct{}{}
		group.Go(func() {
			c.serve(ctx, p, source, []client.NodeID{node})
			<-turns
		})
	}
	group.Wait()
}

// serve copies the files of one machine to others. It returns the machines that have held up others
// and have no copy.
func (c *Copier) serve(ctx context.Context, p *plan, source int, targets []client.NodeID) (slow []client.NodeID) {
	for range rounds {
		t, err := newTransfer(c, p, source, targets)
		if err != nil {
			c.say(client.FrontEnd, "", err)
			return slow
		}
		var held []client.NodeID
		targets, held = t.run(ctx)
		if slow = append(slow, held...); len(targets) == 0 || ctx.Err() != nil {
			return slow
		}
	}
	for _, node := range targets {
		c.say(node, "", errors.New("the copy broke off again and again"))
	}
	return slow
}

// say prints a fault of a machine, once. The path is the file that the fault concerns.
func (c *Copier) say(node client.NodeID, path string, err error) {
	text := err.Error()
	if path != "" {
		text = path + ": " + text
	}
	c.note(node, text)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bad = true
}

// note prints a notice about a machine, once.
func (c *Copier) note(node client.NodeID, text string) {
	line := "bpcp: "
	if node != client.FrontEnd {
		line += fmt.Sprintf("node %d: ", node)
	}
	line = onscreen.Line(line+text) + "\n"
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.said[line] {
		return
	}
	if c.said == nil {
		c.said = map[string]bool{}
	}
	c.said[line] = true
	c.meter.clear()
	_, _ = io.WriteString(c.Stderr, line)
}

// program returns the program to execute on nodes.
func (c *Copier) program() string {
	if c.Program != "" {
		return c.Program
	}
	path, err := os.Executable()
	if err != nil {
		return programName
	}
	return path
}

// programName is looked up in PATH if a node has no program at our path.
const programName = "bpcp"
