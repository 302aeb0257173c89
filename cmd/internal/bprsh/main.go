package bprsh

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"bproc/cmd/internal/bpsh"
	"bproc/cmd/internal/release"
	"bproc/cmd/internal/terminal"
	"bproc/internal/accounts"
	"bproc/internal/client"
)

// codeFailed is the exit code of bprsh's own failures, as with ssh.
const codeFailed = 255

// Main runs bprsh with the arguments of its command line and returns its exit code.
func Main(ctx context.Context, sh *bpsh.Shell, args []string) int {
	o, err := parse(args)
	if err == nil {
		switch {
		case o.help:
			_, err = fmt.Fprint(sh.Stdout, usage)
		case o.version:
			_, err = fmt.Fprintf(sh.Stdout, "bprsh %s\n", release.Version())
		case o.configuration:
			_, err = fmt.Fprintf(sh.Stdout, "host %[1]s\nhostname %[1]s\n", o.host)
		default:
			var a *bpsh.Agent
			if a, err = agent(ctx, sh, o); err == nil {
				return sh.RunAgent(ctx, a)
			}
		}
	}
	if err != nil {
		sh.Say(err)
		return codeFailed
	}
	return 0
}

// agent returns the command and the node on which to run it.
func agent(ctx context.Context, sh *bpsh.Shell, o *options) (*bpsh.Agent, error) {
	u, err := whose(o.user)
	if err != nil {
		return nil, err
	}
	nodes, err := sh.Nodes(ctx, o.host)
	switch {
	case err != nil:
		return nil, err
	case len(nodes) != 1:
		return nil, fmt.Errorf("%s: %d nodes; bprsh runs a command on one (bpsh(1) on many)", o.host, len(nodes))
	}
	onTerminal := o.onTerminal(sh)
	cmd := sh.Client.Command(nodes[0], "")
	cmd.Path, cmd.Args = u.Shell, shellArgs(u.Shell, o.words)
	cmd.Dir, cmd.DirOptional, cmd.Env = u.Home, true, o.environment(&u, onTerminal)
	if onTerminal && nodes[0] != client.FrontEnd { // there, the command is at the user's own
		cmd.Terminal = new(client.Terminal)
	}
	return &bpsh.Agent{Cmd: cmd, Input: !o.noInput, Escape: o.escape}, nil
}

// whose returns the user of the command, and changes this process to that user.
func whose(name string) (accounts.User, error) {
	u := caller()
	if name == "" || name == u.Name {
		return u, nil
	}
	other, err := finder().User(name)
	switch {
	case err != nil:
		return accounts.User{}, err
	case other.UID == u.UID:
		return other, nil
	case os.Geteuid() != 0:
		return accounts.User{}, fmt.Errorf("-l %s: only root may run commands as other users", name)
	}
	return other, become(&other)
}

// shellArgs returns the arguments of a shell that executes a command or, without one, of a login
// shell, whose name begins with a dash.
func shellArgs(shell string, words []string) []string {
	if len(words) == 0 {
		return []string{"-" + path.Base(shell)}
	}
	return []string{path.Base(shell), "-c", strings.Join(words, " ")}
}

var errNoTerminal = errors.New("the command gets no terminal, for standard input is none; -tt asks for one all the same")

// onTerminal reports whether the command gets a terminal.
func (o *options) onTerminal(sh *bpsh.Shell) bool {
	switch o.terminal {
	case never:
		return false
	case forced:
		return true
	case automatic:
		return len(o.words) == 0 && !o.noInput && terminal.Of(sh.Stdin) != nil
	case wanted:
		if !o.noInput && terminal.Of(sh.Stdin) != nil {
			return true
		}
		if !o.quiet {
			sh.Say(errNoTerminal)
		}
	}
	return false
}
