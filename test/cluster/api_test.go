package cluster_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc"
	"bproc/test/cluster"
)

// apiVariable makes this binary a program on the front end that checks the interface of the client
// library: its argument is a node.
const apiVariable = "BPROCTEST_API"

// TestAPI uses the client library with a node, and for comparison with the front end.
func TestAPI(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range []string{"2", "-1"} {
		cmd := c.Front.Command(t.Context(), cluster.Root, self, node)
		cmd.Env = append(cmd.Env, apiVariable+"=1")
		if res, err := cmd.Result(); err != nil || res.Code != 0 {
			t.Errorf("node %s: %+v, %v", node, res, err)
		}
	}
}

func checkAPI(args []string) error {
	node, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	client := &bproc.Client{GhostPath: cluster.Prefix + "/lib/bproc/ghost"}
	for _, check := range []struct {
		name string
		run  func(*bproc.Client, bproc.NodeID) error
	}{
		{"output", checkOutput},
		{"pipes", checkPipes},
		{"context", checkContext},
		{"closed pipe", checkClosedPipe},
		{"pipe of a process that lives on", checkPipeOfChild},
		{"several nodes", checkRunAll},
	} {
		if err := check.run(client, bproc.NodeID(node)); err != nil {
			return fmt.Errorf("%s: %w", check.name, err)
		}
	}
	return nil
}

func checkOutput(c *bproc.Client, node bproc.NodeID) error {
	out, err := c.Command(node, "sh", "-c", "echo good; echo bad >&2; exit 7").Output(context.Background())
	var exit *bproc.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 || string(exit.Stderr) != "bad\n" || string(out) != "good\n" {
		return fmt.Errorf("got %q, %w", out, err)
	}
	return nil
}

// checkPipes sends more through sort than pipes and windows hold.
func checkPipes(c *bproc.Client, node bproc.NodeID) error {
	cmd := c.Command(node, "sort", "-n")
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	stderr, err3 := cmd.StderrPipe()
	if err := errors.Join(err1, err2, err3, cmd.Start(context.Background())); err != nil {
		return err
	}
	const count = 300_000
	go func() {
		w := bufio.NewWriter(stdin)
		for n := count; n > 0; n-- {
			fmt.Fprintln(w, n)
		}
		_ = w.Flush()
		_ = stdin.Close()
	}()
	next := 1
	for lines := bufio.NewScanner(stdout); lines.Scan(); next++ {
		if want := strconv.Itoa(next); lines.Text() != want {
			return fmt.Errorf("got %q, want %s", lines.Text(), want)
		}
	}
	bad, err := io.ReadAll(stderr)
	if err := errors.Join(err, cmd.Wait()); err != nil || len(bad) > 0 || next != count+1 {
		return fmt.Errorf("got %d lines, %q, %w", next-1, bad, err)
	}
	return nil
}

// startLine starts a shell with a pipe from its standard output, and reads the first line.
func startLine(ctx context.Context, c *bproc.Client, node bproc.NodeID, script string) (cmd *bproc.Cmd, stdout io.ReadCloser, line string, err error) {
	cmd = c.Command(node, "sh", "-c", script)
	if stdout, err = cmd.StdoutPipe(); err != nil {
		return nil, nil, "", err
	}
	if err = cmd.Start(ctx); err != nil {
		return nil, nil, "", err
	}
	line, err = bufio.NewReader(stdout).ReadString('\n')
	return cmd, stdout, strings.TrimSpace(line), err
}

func checkContext(c *bproc.Client, node bproc.NodeID) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cmd, _, line, err := startLine(ctx, c, node, "echo up; exec sleep 1000")
	if err != nil || line != "up" {
		return fmt.Errorf("got %q, %w", line, err)
	}
	cancel()
	if err := cmd.Wait(); !errors.Is(err, context.Canceled) || cmd.Status.Signal() != unix.SIGKILL {
		return fmt.Errorf("got %#x, %w", cmd.Status, err)
	}
	return nil
}

func checkClosedPipe(c *bproc.Client, node bproc.NodeID) error {
	cmd, stdout, line, err := startLine(context.Background(), c, node, "exec yes")
	if err != nil || line != "y" {
		return fmt.Errorf("got %q, %w", line, err)
	}
	_ = stdout.Close()
	if err := cmd.Wait(); cmd.Status.Signal() != unix.SIGPIPE {
		return fmt.Errorf("got %#x, %w", cmd.Status, err)
	}
	return nil
}

// checkPipeOfChild has a process end while its child keeps the output open: as on one machine, Wait
// does not wait for the child if the output is a pipe.
func checkPipeOfChild(c *bproc.Client, node bproc.NodeID) error {
	cmd, _, line, err := startLine(context.Background(), c, node, "sleep 1000 & echo $!")
	if err != nil {
		return err
	}
	child, err := strconv.Atoi(line)
	if err != nil {
		return err
	}
	return errors.Join(cmd.Wait(), unix.Kill(child, unix.SIGKILL))
}

func checkRunAll(c *bproc.Client, node bproc.NodeID) error {
	outputs := make([]bytes.Buffer, 5)
	var cmds []*bproc.Cmd
	for i := range outputs {
		cmd := c.Command(bproc.NodeID(i), "echo", "up")
		if i == 4 {
			cmd = c.Command(node, "sh", "-c", "exit 3")
		}
		cmd.Stdout = &outputs[i]
		cmds = append(cmds, cmd)
	}
	err := bproc.RunAll(context.Background(), cmds...)
	if want := fmt.Sprintf("node %d: exit status 3", node); err == nil || err.Error() != want {
		return fmt.Errorf("got %w, want %s", err, want)
	}
	for i := range outputs[:4] {
		if got := outputs[i].String(); got != "up\n" {
			return fmt.Errorf("node %d: got %q", i, got)
		}
	}
	return nil
}
