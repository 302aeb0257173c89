package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"bproc/test/cluster"
)

// dialogue is a program that prints a line at certain points, and waits for a line of input to go
// on.
type dialogue struct {
	cmd   *cluster.Cmd
	stdin io.WriteCloser
	said  *bufio.Reader
}

// talk starts a program.
func talk(cmd *cluster.Cmd) (*dialogue, error) {
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	return &dialogue{cmd: cmd, stdin: stdin, said: bufio.NewReader(stdout)}, cmd.Start()
}

// heard waits for the program's next line.
func (d *dialogue) heard() error {
	if _, err := d.said.ReadString('\n'); err != nil {
		return fmt.Errorf("%s says nothing: %w", d.cmd.Path, err)
	}
	return nil
}

// say lets the program go on.
func (d *dialogue) say() error {
	_, err := fmt.Fprintln(d.stdin, "go on")
	return err
}

// end closes the program's input and waits for its end.
func (d *dialogue) end() error { return errors.Join(d.stdin.Close(), d.cmd.Wait()) }

// holdIdle starts a client that holds a number of idle processes. It prints a line when it runs,
// and another one when its processes do; they end with it.
func holdIdle(ctx context.Context, c *cluster.Cluster, processes int) (*dialogue, error) {
	argv, err := launcherArgv("idle", strconv.Itoa(processes))
	if err != nil {
		return nil, err
	}
	return talk(c.Front.Command(ctx, cluster.Root, argv...))
}
