package manynodes

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// Variable makes a program run nodes.
const Variable = "BPROCTEST_MANYNODES"

// atOnce is the number of nodes that connect at a time: no more than a master authenticates
// concurrently. Fewer join at a time: a master that is slow to record each must not keep one
// waiting for too long.
const (
	atOnce     = 64
	joinAtOnce = 8
)

// commandTime bounds each command.
const commandTime = 10 * time.Minute

// noCall is an unknown call, which the master answers like any other.
const noCall = 200

// crew has all nodes.
type crew struct {
	addr  string
	dir   string
	nodes []*node
	group *errgroup.Group // of the goroutines of sessions
	round uint64
}

// Main carries out the commands on its standard input, one each line, and answers each with a line
// when it is done. Its arguments are the address of the master and a directory for identities.
//
//	join FILE   joins a node for each token in the file
//	connect     connects all
//	ask         each asks the master a question
//	hear        each gets the answer: the master has received all earlier messages
//	cut         waits until none has a connection
//	up          waits until all have one
//	brief       processes end with status 0 as soon as they run, from now on
//	count       prints how many processes run, and how many have ended
func Main(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("%d arguments", len(args))
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	limit.Cur = limit.Max
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	group, ctx := errgroup.WithContext(ctx)
	c := &crew{addr: args[0], dir: args[1], group: group}
	err := c.obey(ctx)
	stop()
	return errors.Join(err, group.Wait())
}

func (c *crew) obey(ctx context.Context) error {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		command, operand, _ := strings.Cut(lines.Text(), " ")
		answer, err := c.command(ctx, command, operand)
		if err != nil {
			return fmt.Errorf("%s: %w", command, err)
		}
		fmt.Println(answer)
	}
	return lines.Err()
}

func (c *crew) command(ctx context.Context, command, operand string) (string, error) {
	sessions := ctx
	ctx, cancel := context.WithTimeoutCause(ctx, commandTime, errors.New("it takes too long"))
	defer cancel()
	switch command {
	case "connect":
		return "connected", c.each(func(n *node) error { return n.connect(sessions, c.group) }, atOnce)
	case "join":
		return "joined", c.join(ctx, operand)
	case "ask":
		c.round++
		return "asked", c.each(func(n *node) error { return n.say(c.round, &wire.Call{Op: noCall}) }, len(c.nodes))
	case "hear":
		return "heard", c.each(func(n *node) error { return n.hear(ctx, c.round) }, len(c.nodes))
	case "cut", "up":
		return command, c.each(func(n *node) error { return n.awaitUp(ctx, command == "up") }, len(c.nodes))
	case "brief":
		return "brief", c.each(func(n *node) error {
			n.mu.Lock()
			n.brief = true
			n.mu.Unlock()
			return nil
		}, len(c.nodes))
	case "count":
		runs, ended := 0, 0
		for _, n := range c.nodes {
			n.mu.Lock()
			runs, ended = runs+len(n.procs), ended+n.killed
			n.mu.Unlock()
		}
		return fmt.Sprint(runs, " ", ended), nil
	}
	return "", errors.New("no such command")
}

func (c *crew) join(ctx context.Context, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	tokens := strings.Fields(string(text))
	first := len(c.nodes)
	for i := range tokens {
		c.nodes = append(c.nodes, &node{
			addr: c.addr, host: fmt.Sprintf("sim%d", first+i), granted: make(chan struct{}), echoes: make(chan uint64, 1), procs: map[wire.PID]uint64{},
		})
	}
	var all errgroup.Group
	all.SetLimit(joinAtOnce)
	for i, token := range tokens {
		all.Go(func() error { return c.nodes[first+i].join(ctx, c.dir, token) })
	}
	return all.Wait()
}

// each runs do for all nodes, up to limit at a time.
func (c *crew) each(do func(*node) error, limit int) error {
	var all errgroup.Group
	all.SetLimit(limit)
	for _, n := range c.nodes {
		all.Go(func() error { return do(n) })
	}
	return all.Wait()
}
