package bpsh

import (
	"context"
	"io"
	"strings"

	"bproc/cmd/internal/terminal"
	"bproc/internal/client"
	"bproc/internal/inherited"
)

// Agent is a command on one node, as bprsh runs it.
type Agent struct {
	Cmd    *client.Cmd // complete but for standard input and outputs
	Input  bool        // the command gets standard input
	Escape int         // the escape character; see terminal.NoEscape
}

// RunAgent runs a command as bprsh does: its ghost leads a POSIX session, and the exit code is that
// of the command, 128+n if it died of signal n, or 255.
func (sh *Shell) RunAgent(ctx context.Context, a *Agent) int {
	if err := inherited.CloseOnExec(ownDescriptors); err != nil {
		sh.Say(err)
		return codeFailed
	}
	return sh.agentSession(a).run(ctx)
}

func (sh *Shell) agentSession(a *Agent) *session {
	s := &session{shell: sh, starts: make(chan struct{}, 1), agent: true}
	j := &job{cmd: a.Cmd, outlet: new(outlet), done: make(chan struct{})}
	a.Cmd.HangUp = true
	a.Cmd.Session = a.Cmd.Node != client.FrontEnd
	a.Cmd.Stdout, a.Cmd.Stderr = sh.Stdout, sh.Stderr
	switch {
	case a.Cmd.Terminal != nil && a.Input:
		a.Cmd.Stdin = s.keys(terminal.Of(sh.Stdin), a.Escape)
		j.onTerminal(s.terminal)
	case a.Cmd.Terminal != nil:
		a.Cmd.Stdin = terminal.WithEnd(strings.NewReader(""))
		j.onTerminal(nil)
	case a.Input:
		a.Cmd.Stdin = sh.Stdin
	}
	s.jobs = []*job{j}
	return s
}

// keys returns the standard input of commands with terminals: the keys typed at t or, if t is nil,
// the bytes of standard input and the end-of-file character.
func (s *session) keys(t *terminal.Terminal, escape int) io.Reader {
	if t == nil {
		return terminal.WithEnd(s.shell.Stdin)
	}
	s.terminal, s.shell.terminal = t, t
	return &terminal.Keys{
		Terminal: t, Source: s.shell.Stdin, Screen: s.shell.Stderr,
		Escapes:    terminal.Escapes{Char: escape},
		Disconnect: s.signals.leave, Resumed: s.signals.resize,
	}
}

// raw sets the user's terminal to raw mode for a command that has a terminal.
func (s *session) raw(j *job) error {
	if j.cmd.Terminal == nil {
		return nil
	}
	return s.terminal.Raw()
}
