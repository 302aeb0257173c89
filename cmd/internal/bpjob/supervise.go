package bpjob

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"bproc/internal/client"
	"bproc/internal/inherited"
	"bproc/internal/job/life"
	"bproc/internal/job/place"
	"bproc/internal/job/supervise"
)

// Descriptors with which a supervisor is started.
const (
	reportFD = 3 // to which it writes the [report] of the first start
	lockFD   = 4 // of its lock
)

// ownDescriptors is the number of descriptors that bpjob keeps.
const ownDescriptors = 3

// report is the result of a start.
type report struct {
	Running bool
	Error   string
}

// superviseCommand is executed by "bpjob start" as a process of its own.
func (c *Command) superviseCommand() *cobra.Command {
	cmd, s := forJob("supervise job", "", func(ctx context.Context, s selection) error {
		to := os.NewFile(reportFD, "report")
		unix.CloseOnExec(reportFD)
		var once sync.Once
		tell := func(r report) {
			once.Do(func() {
				_ = json.NewEncoder(to).Encode(r) // the reader may be gone
				to.Close()
			})
		}
		err := c.supervise(ctx, s, tell)
		if err != nil {
			tell(report{Error: err.Error()})
		}
		return err
	})
	cmd.Hidden = true
	return s.onNodes(cmd)
}

// supervisor returns a supervisor for a process.
func (c *Command) supervisor(ch *chosen) (*supervise.Supervisor, error) {
	if err := inherited.CloseOnExec(ownDescriptors); err != nil { // ghosts would keep them open
		return nil, err
	}
	nodes, err := ch.nodes()
	if err != nil {
		return nil, err
	}
	s, err := ch.spec()
	if err != nil {
		return nil, err
	}
	sup := &supervise.Supervisor{Client: new(client.Client), Place: ch.place, Process: ch.process, Nodes: nodes, Spec: s, Caller: ch.caller}
	sup.Jailer, sup.Copier, err = programs()
	return sup, err
}

// programs returns the paths of bpjail on nodes and of bpcp here: bproc is installed in the same place everywhere.
func programs() (jailer, copier string, err error) {
	exe, err := os.Executable()
	if err != nil {
		return "", "", err
	}
	bin := filepath.Dir(exe)
	return filepath.Join(filepath.Dir(bin), "lib/bproc/bpjail"), filepath.Join(bin, "bpcp"), nil
}

func (c *Command) supervise(ctx context.Context, sel selection, tell func(report)) error {
	stops := requests(false) // before a stop can find this supervisor
	p, err := at(sel)
	if err != nil {
		return err
	}
	lock, err := p.Inherit(os.NewFile(lockFD, "lock"))
	if err != nil {
		return err
	}
	defer lock.Close()
	ch, err := c.choose(ctx, sel)
	if err == nil {
		err = c.enter(p)
	}
	if err != nil {
		return err
	}
	s, err := c.supervisor(ch)
	if err != nil {
		return errors.Join(err, p.Forget())
	}
	s.Changed = func(r place.Record) {
		switch {
		case r.State == life.Running:
			tell(report{Running: true})
		case r.State == life.Stopped:
			tell(report{Error: fmt.Sprintf("process %v: stopped during its start", ch.place)})
		case !r.State.Active():
			tell(report{Error: why(ch.place, r)})
		}
	}
	_, err = s.Run(ctx, stops)
	return err
}

// enter names this supervisor in the record: a stop must find it even if who has started it is gone.
func (c *Command) enter(p place.Process) error {
	r, err := p.Former()
	if err != nil {
		return err
	}
	r.Supervisor, r.Born, r.Caller = os.Getpid(), place.Born(os.Getpid()), c.caller
	return p.Write(r)
}

// why says in one line why a process does not run.
func why(p place.Process, r place.Record) string {
	text := r.Exit.String()
	if r.Reason != "" {
		text = r.Reason
		if r.Exit.Cause != "" && r.Exit.Cause != life.NotExecuted {
			text = string(r.Exit.Cause) + ": " + text
		}
	}
	return fmt.Sprintf("process %v: %s", p, text)
}

// requests turns SIGTERM and SIGINT into requests to a supervisor to end, and in the foreground also
// SIGHUP, unless it is ignored already (nohup(1)). Another supervisor outlives its terminal.
func requests(foreground bool) <-chan supervise.Request {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT)
	if foreground && !signal.Ignored(unix.SIGHUP) {
		signal.Notify(signals, unix.SIGHUP)
	} else {
		signal.Ignore(unix.SIGHUP)
	}
	signal.Ignore(unix.SIGPIPE)
	requests := make(chan supervise.Request)
	go func() {
		for range signals { // until this program ends
			requests <- life.Stop{}
		}
	}()
	return requests
}

// signalSupervisor sends a signal to the supervisor of a process, and reports whether it has: the
// record may be about a former supervisor.
func signalSupervisor(p place.Process, r place.Record, sig unix.Signal) (sent bool, err error) {
	fd, err := unix.PidfdOpen(r.Supervisor, 0)
	if errors.Is(err, unix.ESRCH) || r.Supervisor == 0 {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("supervisor of %v: %w", p, err)
	}
	defer unix.Close(fd)
	now, err := p.Read()
	if err != nil || now.Supervisor != r.Supervisor || place.Born(r.Supervisor) != now.Born { // another process has the number now
		return false, err
	}
	err = unix.PidfdSendSignal(fd, sig, nil, 0)
	if errors.Is(err, unix.ESRCH) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("supervisor of %v: %w", p, err)
	}
	return true, nil
}
