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
	Cmd    *client.Cmd // with all but standard input and outputs
	Input  bool        // it has standard input
	Escape int         // the escape character; see terminal.NoEscape
}

// RunAgent runs a command as bprsh does: its ghost leads a session, and the exit code is
// that of the command, 128+n if it died of signal n, or 255.
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

// keys returns standard input of commands that have terminals: what is typed at one, or
// the bytes of another file with the character for its end.
func (s *session) keys(t *terminal.Terminal, escape int) io.Reader {
	if t == nil {
		return terminal.WithEnd(s.shell.Stdin)
	}
	s.terminal = t
	return &terminal.Keys{
		Terminal: t, Source: s.shell.Stdin, Screen: s.shell.Stderr,
		Escapes:    terminal.Escapes{Char: escape},
		Disconnect: s.signals.leave, Resumed: s.signals.resize,
	}
}

// raw has what is typed go to a command that has a terminal now.
func (s *session) raw(j *job) error {
	if j.cmd.Terminal == nil {
		return nil
	}
	return s.terminal.Raw()
}
