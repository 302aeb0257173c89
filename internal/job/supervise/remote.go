package supervise

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/client"
	"bproc/internal/job/life"
	"bproc/internal/job/place"
	"bproc/internal/job/spec"
)

// Time limits of a start on a node: of each part, and of the whole until bpjail executes the program. Pause and
// number of tries to reach a node.
const (
	startTimeout = 2 * time.Minute
	readyTimeout = 2 * startTimeout // bpjail reads the files, too
	tryAgain     = time.Second
	clearTries   = 20
)

// command returns a bpjail command for an action on a node.
func (s *Supervisor) command(node client.NodeID, sp spec.Spec, args ...string) (*client.Cmd, error) {
	env, err := sp.Encode()
	if err != nil {
		return nil, err
	}
	cmd := s.Client.Command(node, args[0], args[1:]...)
	cmd.Path, cmd.Env, cmd.Dir = s.Jailer, []string{env}, "/"
	cmd.Session = true
	cmd.Ends = sp.Action == spec.Kill || sp.Action == spec.Clear
	return cmd, nil
}

// exited is the end of a program on a node.
type exited struct {
	ready bool // bpjail has executed the program
	exit  life.Exit
	why   string // output of bpjail
	lost  bool   // it was lost with its node
	left  error  // why processes may be left there
}

// reason says why bpjail has not executed the program.
func (e *exited) reason(node client.NodeID) string {
	return fmt.Sprintf("node %d: %s", node, cmp.Or(e.why, "bpjail has ended: "+e.exit.String()))
}

// execute runs a program on a node until the program and all processes that it has left there have ended. It calls
// ready when bpjail executes the program. Until then the program is ended when the context files ends, or after
// readyTimeout.
func (s *Supervisor) execute(ctx, files context.Context, node client.NodeID, sp spec.Spec, ready func(client.PID)) (exited, error) {
	cmd, err := s.command(node, sp, append([]string{sp.Path}, sp.Args...)...)
	if err != nil {
		return exited{}, err
	}
	unasked := func() bool { return true }
	g := &gate{to: s.logs.bad, ready: func() { unasked(); ready(cmd.PID) }}
	cmd.Stdout, cmd.Stderr, cmd.HangUp = s.logs.out, g, true
	cmd.Report = true // whether it was lost with its node
	start, cancel := limited(files, "its start on the node")
	defer cancel()
	if err := cmd.Start(start); err != nil {
		if refused := new(client.Error); !errors.As(err, &refused) { // the node may have the request
			return exited{left: err}, err
		}
		return exited{}, err
	}
	starting, over := context.WithTimeoutCause(files, readyTimeout, fmt.Errorf("its start on the node takes more than %v", readyTimeout))
	defer over()
	unasked = context.AfterFunc(starting, func() { _ = cmd.Signal(unix.SIGKILL) }) // it may have ended
	// Remaining descendants keep its outputs open, so Wait waits for them, too.
	var ended spec.Ended
	var left error
	cleared, silent := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(cleared)
		awaitEnd(cmd.PID)
		read := context.AfterFunc(files, s.logs.over)
		ended, left = s.clearAll(ctx, node, silent)
		<-silent
		read()
	}()
	status, err := cmd.Wait()
	unasked()
	close(silent)
	<-cleared
	e := exited{ready: g.open, why: g.why(), lost: errors.Is(err, client.ErrLost), left: left}
	if !e.ready && starting.Err() != nil {
		e.why = context.Cause(starting).Error()
	}
	if sig, ok := status.Signaled(); ok {
		e.exit.Signal = sig
	} else {
		e.exit.Code = status.ExitCode()
	}
	if ended.OOM > 0 && !e.exit.OK() { // otherwise the program has survived the end of a child
		e.exit.Cause = life.OutOfMemory
	}
	return e, nil
}

// awaitEnd waits for the end of a child without reaping it.
func awaitEnd(pid client.PID) {
	fd, err := unix.PidfdOpen(int(pid), unix.PIDFD_NONBLOCK)
	if err != nil {
		return // it no longer exists
	}
	f := os.NewFile(uintptr(fd), "process")
	defer f.Close()
	raw, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Read(func(fd uintptr) bool { // fails only when f is closed
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		return err == nil && n > 0
	})
}

// runHook runs the hook before a start.
func (s *Supervisor) runHook(ctx, files context.Context, run uint64, former place.Record) told {
	failed := func(err, left error) told {
		return told{in: life.HookEnded{Run: run, Exit: life.Exit{Code: 1}}, reason: err.Error(), left: left != nil}
	}
	node, err := s.prepare(files, former)
	if err != nil {
		return failed(err, nil)
	}
	sp := s.Spec
	sp.Action, sp.Path, sp.Args = spec.Hook, s.Process.Hooks.PreStart, nil
	e, err := s.executeWithFiles(ctx, files, node, sp, func(client.PID) { s.told <- told{in: life.HookBegan{Run: run}} })
	switch {
	case e.lost || isDown(err):
		return told{in: life.NodeDown{Run: run}, left: e.left != nil}
	case err != nil:
		return failed(err, e.left)
	case !e.ready:
		return told{in: life.HookEnded{Run: run, Exit: e.exit}, reason: e.reason(node), left: e.left != nil}
	}
	return told{in: life.HookEnded{Run: run, Exit: e.exit}, left: e.left != nil}
}

// launch starts the process and waits for its end. After a hook, it uses the node of the hook.
func (s *Supervisor) launch(ctx, files context.Context, run uint64, former place.Record, hooked bool) told {
	refused := func(err, left error) told {
		return told{in: life.NotStarted{Run: run, Exit: life.Exit{Code: 1}}, reason: err.Error(), left: left != nil}
	}
	node := former.Node
	if !hooked {
		var err error
		if node, err = s.prepare(files, former); err != nil {
			return refused(err, nil)
		}
	}
	e, err := s.executeWithFiles(ctx, files, node, s.Spec, func(pid client.PID) {
		s.told <- told{in: life.Started{Run: run}, pid: pid, node: &node}
	})
	switch {
	case e.lost || isDown(err):
		return told{in: life.NodeDown{Run: run}, node: &node, left: e.left != nil}
	case err != nil:
		return refused(err, e.left)
	case !e.ready:
		return told{in: life.NotStarted{Run: run, Exit: e.exit}, node: &node, left: e.left != nil, reason: e.reason(node)}
	}
	return told{in: life.Ended{Run: run, Exit: e.exit}, left: e.left != nil}
}

// prepare chooses a node for a run. It first clears what the previous run may have left, wherever
// that was. Until the run is over, other processes of the job go to the same node. The context ends
// when the process is asked to end: it may be the front end's master, or the node, that is waited for.
func (s *Supervisor) prepare(ctx context.Context, former place.Record) (client.NodeID, error) {
	if former.Left {
		if _, err := s.clear(ctx, former.Node); err != nil {
			return 0, err
		}
	}
	var n client.Node
	home, node, err := s.Place.Settle(ctx, func(others *client.NodeID) (id client.NodeID, err error) {
		n, err = s.choose(ctx, former, others)
		return n.ID, err
	})
	if err != nil {
		return 0, err
	}
	s.told <- told{node: &node, home: home}
	s.introduce(ctx, n)
	return node, nil
}

// maxVariable bounds an environment variable with the sums of files, which travels with a start:
// MAX_ARG_STRLEN with pages of 4 KiB (execve(2)). If the sums do not fit, the node is asked for its
// sums first.
const maxVariable = 128 << 10

// executeWithFiles is execute, after it has made sure that the node has the files of the job. The
// context for that ends when the process is asked to end.
func (s *Supervisor) executeWithFiles(ctx, files context.Context, node client.NodeID, sp spec.Spec, ready func(client.PID)) (exited, error) {
	sums, err := s.sums(files)
	if err != nil {
		return exited{}, err
	}
	with := sp
	with.Sums, with.Attributes = spec.Split(sums)
	env, err := with.Encode()
	if err != nil {
		return exited{}, err
	}
	if len(env) >= maxVariable {
		if err := s.copyChanged(files, node, sums); err != nil {
			return exited{}, err
		}
		return s.execute(ctx, files, node, sp, ready)
	}
	e, err := s.execute(ctx, files, node, with, ready)
	if err != nil || e.why != spec.Stale {
		return e, err
	}
	if err := s.copyFiles(files, node); err != nil {
		return exited{}, err
	}
	with.Attributes = nil // a file system of the node may keep no owners
	return s.execute(ctx, files, node, with, ready)
}

// sums returns the sums of the files of the job.
func (s *Supervisor) sums(ctx context.Context) (map[string]string, error) {
	ctx, cancel := limited(ctx, "reading them")
	defer cancel()
	return spec.OwnSums(ctx, &s.Spec)
}

// limited returns a context for work on the files of the job.
func limited(ctx context.Context, what string) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("%s takes more than %v", what, startTimeout))
}

// copyChanged copies the files of the job to a node unless it has them.
func (s *Supervisor) copyChanged(ctx context.Context, node client.NodeID, sums map[string]string) error {
	out, err := s.ask(ctx, node, s.spec(spec.Files))
	if err != nil {
		return err
	}
	var there map[string]string
	if err := json.Unmarshal(out, &there); err != nil {
		return fmt.Errorf("node %d: files of the job: %w", node, err)
	}
	if _, attributes := spec.Split(there); len(attributes) == 0 { // a bpjail of another version does not say them
		sums, _ = spec.Split(sums)
	}
	if spec.HaveAll(there, sums) {
		return nil
	}
	return s.copyFiles(ctx, node)
}

// copyFiles copies the files of the job to a node.
func (s *Supervisor) copyFiles(ctx context.Context, node client.NodeID) error {
	dir := s.Spec.JobDir()
	ctx, cancel := limited(ctx, "copying")
	defer cancel()
	// On the node there is a directory, where here there may be a symbolic link.
	cp := exec.CommandContext(ctx, s.Copier, "-r", "-p", dir+"/.", fmt.Sprintf("%d:%s", node, dir))
	said := &clipped{most: maxWhy}
	cp.Dir, cp.WaitDelay = "/", tryAgain
	if s.Spec.Ordinary {
		sp := s.spec(spec.Files)
		sp.Source = sp.Directory()
		if _, err := s.ask(ctx, node, sp); err != nil { // gives the directory there to the user
			return err
		}
		cp = s.asUser(cp)
	}
	cp.Stdout, cp.Stderr = said, said
	err := cp.Run()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	default:
		err = because(string(said.text), err)
	}
	return fmt.Errorf("copy %s to node %d: %w", dir, node, err)
}

// because returns output as an error of one line, or err if there is no output.
func because(said string, err error) error {
	if text := strings.Join(strings.Fields(said), " "); text != "" {
		return errors.New(text)
	}
	return err
}

// spec returns the description of the process for actions other than its start.
func (s *Supervisor) spec(a spec.Action) spec.Spec {
	o := &s.Spec
	return spec.Spec{
		Action: a, Root: o.Root, Job: o.Job, Process: o.Process, Ordinary: o.Ordinary, UID: o.UID, GID: o.GID, Groups: o.Groups,
	}
}

// Clear kills the rest of a process without a supervisor on a node.
func (s *Supervisor) Clear(ctx context.Context, node client.NodeID) error {
	_, err := s.clear(ctx, node)
	return err
}

// clearAll is clear, repeated as long as remaining processes keep the outputs of the process open: a node may have no
// process to spare for bpjail, because of them.
func (s *Supervisor) clearAll(ctx context.Context, node client.NodeID, silent <-chan struct{}) (ended spec.Ended, err error) {
	for {
		ended, err = s.clear(ctx, node)
		if err == nil || ctx.Err() != nil {
			return ended, err
		}
		select {
		case <-silent:
			return ended, err
		default:
		}
	}
}

// clear kills the rest of the process on a node. A node that is down has none, once that is certain:
// clear waits for it, at most for the lease.
func (s *Supervisor) clear(ctx context.Context, node client.NodeID) (ended spec.Ended, err error) {
	for tries := 0; tries < clearTries; {
		var out []byte
		out, err = s.ask(ctx, node, s.spec(spec.Clear))
		if err == nil {
			err = json.Unmarshal(out, &ended)
		}
		if isDown(err) {
			return ended, nil
		}
		if err == nil {
			break
		}
		if !isUncertain(err) {
			tries++
		}
		select {
		case <-time.After(tryAgain):
			continue
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		break
	}
	if err != nil && ctx.Err() == nil { // the end of a wait is no trouble
		s.logs.fail(err)
	}
	return ended, err
}
