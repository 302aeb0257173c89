package bpsh

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"bproc/cmd/internal/terminal"
	"bproc/internal/client"
)

// session is one run of a command on nodes.
type session struct {
	shell   *Shell
	jobs    []*job
	taps    *fanout        // standard input of several nodes
	turns   *turns         // output of one node after the other
	signals signals        // what bpsh was sent
	starts  chan struct{}  // one element for each start under way
	started sync.WaitGroup // starts that are to come

	terminal *terminal.Terminal // of the user, while commands have one; nil: none
	agent    bool               // bprsh
}

// maxStarts bounds the starts under way, each of which is a ghost that the
// master has not adopted yet.
const maxStarts = 128

func newSession(sh *Shell, o *options, nodes []client.NodeID) *session {
	s := &session{shell: sh, starts: make(chan struct{}, maxStarts)}
	env := environment(o.argv[0])
	out := newOutlets(sh, o)
	input := sh.Stdin
	if o.terminal {
		input = s.keys(terminal.Of(sh.Stdin), '~')
	}
	if len(nodes) > 1 && o.readsInput() {
		s.taps = newFanout(client.FromTerminal(input))
	}
	if out.turns {
		s.turns = new(turns)
	}
	for rank, node := range nodes {
		cmd := sh.Client.Command(node, o.argv[0], o.argv[1:]...)
		cmd.Env = append(env[:len(env):len(env)], rankVariable(rank))
		cmd.HangUp, cmd.View = true, o.procfs
		j := &job{cmd: cmd, outlet: out.open(node), done: make(chan struct{})}
		j.redirect(o)
		switch {
		case s.taps != nil:
			j.tap = s.taps.tap()
			cmd.Stdin = j.tap
		case o.readsInput() && node == client.FrontEnd:
			cmd.Stdin = sh.Stdin
		case o.readsInput():
			cmd.Stdin = input
		}
		if o.terminal && node != client.FrontEnd {
			j.onTerminal(s.terminal)
		}
		s.jobs = append(s.jobs, j)
		if s.turns != nil {
			s.turns.add(j.outlet.spool, j.done)
		}
	}
	return s
}

func (o *options) readsInput() bool { return !o.noInput && !o.noIO && o.stdin == "" }

// environment returns our environment with the name of the program. The rank is
// each node's own.
func environment(name string) []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "BPROC_RANK=") && !strings.HasPrefix(v, "BPROC_PROGNAME=") {
			env = append(env, v)
		}
	}
	return append(env, "BPROC_PROGNAME="+name)
}

// run runs the jobs to their end and returns bpsh's exit code.
func (s *session) run(ctx context.Context) int {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group errgroup.Group
	s.started.Add(len(s.jobs))
	s.signals.agent, s.signals.terminal = s.agent, s.terminal
	defer s.terminal.Close()
	stop := s.signals.watch(s.shell.catchAfter(), cancel)
	if len(s.jobs) == 1 && s.turns == nil {
		s.do(ctx, s.jobs[0]) // here: a goroutine of its own would cost a thread
		stop()
		return s.end()
	}
	for _, j := range s.jobs {
		group.Go(func() error {
			s.do(ctx, j)
			return nil
		})
	}
	if s.turns != nil {
		group.Go(s.turns.run)
	}
	if s.taps != nil {
		s.started.Wait()
		// Not waited for: it may be in a read from a terminal.
		go s.taps.run()
	}
	if err := group.Wait(); err != nil {
		s.shell.Say(err)
		return codeFailed
	}
	stop()
	return s.end()
}

// do runs one job.
func (s *session) do(ctx context.Context, j *job) {
	defer close(j.done)
	s.starts <- struct{}{}
	err := j.cmd.Start(ctx)
	<-s.starts
	j.tap.release(err != nil)
	if err == nil {
		if rawErr := s.raw(j); rawErr != nil {
			s.shell.Say(rawErr)
		}
		s.signals.started(j)
	}
	s.started.Done()
	if err != nil {
		j.code = s.failed(err)
		return
	}
	if err := j.cmd.WaitOutput(); err != nil {
		s.shell.Say(j.name(err))
		s.signals.giveUp()
	}
	if sig, left := s.signals.hasLeft(); left {
		j.tap.release(true)
		j.code = codeSignal + int(sig)
		if sig == 0 {
			s.terminal.Close()
			s.shell.Say(j.name(errLeft))
			j.code = codeFailed
		}
		return
	}
	status, err := j.cmd.Wait()
	s.signals.hangUpRest(j)
	j.tap.release(true)
	j.code = status.ExitCode()
	if err = errors.Join(err, j.outlet.close()); err != nil {
		s.shell.Say(j.name(err))
		j.code = codeFailed
	}
}

// errLeft is for commands that the user has left to themselves.
var errLeft = errors.New("disconnected; the command gets SIGHUP")

// end returns the largest exit code. When bpsh itself got a signal, and a command
// died of it, bpsh does so too, so that a shell's loop around it stops at SIGINT,
// and a shell at a terminal says what ended its job. Launchers, which have no
// terminal, get the exit code: some take a death by a signal for success.
func (s *session) end() int {
	code := 0
	for _, j := range s.jobs {
		code = max(code, j.code)
	}
	s.terminal.Close()
	if s.agent {
		return code
	}
	mortal := []unix.Signal{unix.SIGINT}
	if atTerminal() {
		mortal = append(mortal, unix.SIGTERM, unix.SIGHUP)
	}
	for _, sig := range mortal {
		if code == codeSignal+int(sig) && s.signals.has(sig) {
			die(sig)
		}
	}
	return code
}
