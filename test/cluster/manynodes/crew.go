package manynodes

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bproc/internal/client"
	"bproc/test/cluster"
)

// Crew has nodes that run in one program, in the network of a machine.
type Crew struct {
	cluster *cluster.Cluster
	machine int
	dir     string
	cmd     *cluster.Cmd
	stdin   io.WriteCloser
	said    *bufio.Reader
}

// Start starts the program, in the machine of a node that has no slave.
func Start(ctx context.Context, c *cluster.Cluster, machine int) (_ *Crew, err error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "manynodes")
	if err != nil {
		return nil, err
	}
	w := &Crew{cluster: c, machine: machine, dir: dir}
	w.cmd = c.Nodes[machine].Command(ctx, cluster.Root, exe, c.Front.Addr.String()+":2223", dir)
	w.cmd.Env = append(w.cmd.Env, Variable+"=1")
	w.cmd.Stderr = os.Stderr
	stdin, inErr := w.cmd.StdinPipe()
	stdout, outErr := w.cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	w.stdin, w.said = stdin, bufio.NewReader(stdout)
	if err := w.cmd.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return w, nil
}

// Ask makes the nodes carry out a command, and returns their answer; see [Main].
func (w *Crew) Ask(command string) (string, error) {
	if _, err := fmt.Fprintln(w.stdin, command); err != nil {
		return "", err
	}
	answer, err := w.said.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("nodes do not answer to %q: %w", command, err)
	}
	return strings.TrimSpace(answer), nil
}

// Join enrols a number of nodes.
func (w *Crew) Join(ctx context.Context, nodes int) error {
	socket, err := w.cluster.Front.Path("/run/bproc/master.sock")
	if err != nil {
		return err
	}
	admin := client.Client{Socket: socket}
	var tokens strings.Builder
	for range nodes {
		token, _, err := admin.Enroll(ctx, client.Enrolment{Node: -1, TTL: time.Hour})
		if err != nil {
			return err
		}
		fmt.Fprintln(&tokens, token)
	}
	file := filepath.Join(w.dir, "tokens")
	if err := os.WriteFile(file, []byte(tokens.String()), 0o600); err != nil {
		return err
	}
	_, err = w.Ask("join " + file)
	return err
}

// Cut cuts the network until no link has a connection any more. Heal must follow.
func (w *Crew) Cut() error {
	if err := w.cluster.Cut(w.machine); err != nil {
		return err
	}
	_, err := w.Ask("cut")
	return err
}

// Heal restores the network, and waits until all links go on.
func (w *Crew) Heal() error {
	if err := w.cluster.Heal(w.machine); err != nil {
		return err
	}
	_, err := w.Ask("up")
	return err
}

// Close ends the nodes.
func (w *Crew) Close() error {
	if w == nil {
		return nil
	}
	return errors.Join(w.stdin.Close(), w.cmd.Wait(), os.RemoveAll(w.dir))
}
