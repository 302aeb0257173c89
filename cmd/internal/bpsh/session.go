package bpsh

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"bproc/cmd/internal/defaultaction"
	"bproc/cmd/internal/terminal"
	"bproc/internal/client"
)

// session is one run of a command on nodes.
type session struct {
	shell   *Shell
	jobs    []*job
	taps    *fanout        // standard input of several nodes
	turns   *turns         // with output of one node after the other
	signals signals        // signals that bpsh got
	starts  chan struct{}  // one element for each start under way
	started sync.WaitGroup // counts starts that are to come

	ending   ending     // ends commands early
	json     bool       // print results, including outputs
	group    bool       // print outputs at the end
	reports  sync.Mutex // held while one result is printed
	progress *progress  // nil: not shown
	cancel   context.CancelCauseFunc

	terminal *terminal.Terminal // the user's, while commands have terminals; nil: none
	agent    bool               // bprsh
}

// maxStarts bounds the starts under way, each of which is a ghost that the master has not adopted
// yet.
const maxStarts = 128

func newSession(sh *Shell, o *options, nodes []client.NodeID) *session {
	s := &session{
		shell: sh, starts: make(chan struct{}, maxStarts), json: o.json, group: o.group,
		ending: ending{limit: o.timeout, failFast: o.failFast, failed: make(chan struct{})},
	}
	env, places := o.places(nodes)
	if o.keepsOutput() && len(places) > 1 {
		s.progress = newProgress(sh)
	}
	out := newOutlets(sh, o)
	out.ranks = len(places)
	input := sh.Stdin
	if o.terminal {
		input = s.keys(terminal.Of(sh.Stdin), '~')
	}
	if len(places) > 1 && o.readsInput() && o.reader == nil {
		s.taps = newFanout(client.FromFile(input))
	}
	if out.turns {
		s.turns = new(turns)
	}
	for _, place := range places {
		node := place.node
		cmd := sh.Client.Command(node, o.argv[0], o.argv[1:]...)
		cmd.Path = cmp.Or(o.shell, cmd.Path)
		cmd.Env = env.of(place)
		cmd.Dir, cmd.HangUp, cmd.View, cmd.Report = o.dir, true, o.procfs, o.time || o.json
		j := &job{task: place, cmd: cmd, outlet: out.open(place), done: make(chan struct{})}
		j.redirect(o)
		s.feed(j, o, input)
		if o.terminal && node != client.FrontEnd {
			j.onTerminal(s.terminal)
		}
		s.jobs = append(s.jobs, j)
		s.progress.begun(j)
		if s.turns != nil {
			s.turns.add(j.outlet.spool, j.done)
		}
	}
	return s
}

// feed gives a job its standard input: its tap, or the user's, on nodes through input.
func (s *session) feed(j *job, o *options, input io.Reader) {
	switch {
	case o.reader != nil && *o.reader != j.rank:
	case s.taps != nil:
		j.tap = s.taps.tap()
		j.cmd.Stdin = j.tap
	case o.readsInput() && j.node == client.FrontEnd:
		j.cmd.Stdin = s.shell.Stdin
	case o.readsInput():
		j.cmd.Stdin = input
	}
}

// places returns the commands to run, with their nodes, and their environment.
func (o *options) places(nodes []client.NodeID) (environment, []task) {
	counts := o.counts
	if counts == nil {
		counts = slices.Repeat([]int{max(o.perNode, 1)}, len(nodes))
	}
	var st *step
	if o.counts != nil || o.perNode > 0 {
		st = newStep(nodes, counts)
	}
	return newEnvironment(o.argv[0], st), tasks(nodes, counts)
}

func (o *options) readsInput() bool { return !o.noInput && !o.noIO && o.stdin == "" }

// run runs the jobs to their end and returns bpsh's exit code.
func (s *session) run(ctx context.Context) int {
	ctx, s.cancel = context.WithCancelCause(ctx)
	defer s.cancel(nil)
	s.started.Add(len(s.jobs))
	s.signals.agent, s.signals.terminal, s.signals.leaving = s.agent, s.terminal, make(chan struct{})
	defer s.terminal.Close()
	stop := s.signals.watch(s.shell.catchAfter(), s.cancel)
	s.progress.start()
	if len(s.jobs) == 1 && s.turns == nil {
		s.do(ctx, s.jobs[0]) // in this goroutine: another one would cost a thread
	} else if err := s.doAll(ctx); err != nil {
		s.progress.stop()
		s.shell.Say(err)
		return codeFailed
	}
	s.ending.settle()
	s.progress.stop()
	err := error(nil)
	if s.group {
		s.signals.giveUp() // no command is left that could end by a signal
		err = s.printGroups()
	}
	stop()
	if err != nil {
		s.shell.Say(err)
		return codeFailed
	}
	return s.end()
}

// doAll runs several jobs.
func (s *session) doAll(ctx context.Context) error {
	var group errgroup.Group
	for _, j := range s.jobs {
		group.Go(func() error {
			s.do(ctx, j)
			return nil
		})
	}
	if s.turns != nil {
		group.Go(s.turns.run)
		group.Go(s.endByNextSignal)
	}
	if s.taps != nil {
		s.started.Wait()
		// doAll does not wait for this goroutine, which may be blocked in a read from a terminal.
		go s.taps.run()
	}
	return group.Wait()
}

// endByNextSignal has the next signal end bpsh when all commands have ended, and only their output is
// left.
func (s *session) endByNextSignal() error {
	for _, j := range s.jobs {
		<-j.done
	}
	s.signals.giveUp()
	return nil
}

// do runs one job, and reports its end if that is wanted.
func (s *session) do(ctx context.Context, j *job) {
	defer close(j.done)
	began := time.Now()
	s.perform(ctx, j)
	if j.code != 0 {
		s.fail(j)
	}
	s.progress.ended(j)
	if s.json {
		s.reports.Lock()
		defer s.reports.Unlock()
		if err := s.report(j, time.Since(began)); err != nil {
			s.shell.Say(j.name(err))
			j.code = codeFailed
		}
	}
}

// perform runs one job.
func (s *session) perform(ctx context.Context, j *job) {
	err := s.start(ctx, j)
	if err == nil {
		if rawErr := s.raw(j); rawErr != nil {
			s.shell.Say(rawErr)
		}
		s.signals.started(j)
	}
	s.started.Done()
	if err != nil {
		j.endInput()
		j.code = s.failed(j, err)
		return
	}
	settle := s.ending.oversee(ctx, j)
	s.await(j)
	if errors.Is(settle(), errTimedOut) {
		j.code = s.timedOut(j)
	}
}

// start starts a job when one of the slots for starts is free.
func (s *session) start(ctx context.Context, j *job) error {
	s.starts <- struct{}{}
	defer func() { <-s.starts }()
	j.began = time.Now()
	if s.ending.skips() {
		return errOther
	}
	ctx, cancel := s.ending.within(ctx)
	defer cancel()
	return j.cmd.Start(ctx)
}

// await waits for the end of a job that was started.
func (s *session) await(j *job) {
	if err := j.cmd.WaitOutput(); err != nil {
		s.tell(j, j.name(err))
		s.signals.giveUp()
	}
	status, ended, err := s.awaitEnd(j)
	if !ended {
		s.leaveBehind(j)
		return
	}
	s.signals.hangUpRest(j)
	j.status, j.code = status, status.ExitCode()
	if err = errors.Join(err, j.outlet.close()); err != nil {
		s.tell(j, j.name(err))
		j.code = codeFailed
	}
}

// awaitEnd waits for the end of a process whose outputs have ended; not ended: it is left to
// itself. One that has a terminal may have closed that, ignore SIGHUP and go on.
func (s *session) awaitEnd(j *job) (status client.Status, ended bool, err error) {
	if _, left := s.signals.hasLeft(); left {
		return 0, false, nil
	}
	if j.cmd.Terminal == nil {
		status, err = j.cmd.Wait()
		return status, true, err
	}
	type end struct {
		status client.Status
		err    error
	}
	over := make(chan end, 1)
	go func() {
		status, err := j.cmd.Wait()
		over <- end{status, err}
	}()
	select {
	case e := <-over:
		return e.status, true, e.err
	case <-s.signals.leaving:
		return 0, false, nil
	}
}

// leaveBehind takes in that a command is left to itself.
func (s *session) leaveBehind(j *job) {
	j.endInput()
	j.left = true
	sig, _ := s.signals.hasLeft()
	j.code = codeSignal + int(sig)
	if sig == 0 {
		s.terminal.Close()
		s.tell(j, j.name(errLeft))
		j.code = codeFailed
	}
}

// errLeft is for commands that the user has left to themselves.
var errLeft = errors.New("disconnected; the command gets SIGHUP")

// end returns the largest exit code or, with --fail-fast, the code of the first failed command. If
// bpsh got a signal and a command died of it, bpsh dies of it too: so a shell's loop around bpsh
// stops at SIGINT, and a shell at a terminal reports the reason. Launchers, which have no terminal,
// get the exit code, since some of them take death by a signal for success.
func (s *session) end() int {
	code := 0
	for _, j := range s.jobs {
		code = max(code, j.code)
	}
	if s.ending.first != nil {
		code = s.ending.first.code
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
			defaultaction.Take(sig)
		}
	}
	return code
}
