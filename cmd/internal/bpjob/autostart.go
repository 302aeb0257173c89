package bpjob

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/client"
	"bproc/internal/job/life"
	"bproc/internal/job/place"
	"bproc/internal/job/supervise"
	"bproc/internal/procstat"
)

// askAgain is the delay before another request to a master that does not answer.
const askAgain = time.Second

// arrivals are the states of nodes, those that are up, and the boot id that each had when last seen up.
type arrivals struct {
	states map[client.NodeID]string
	up     map[client.NodeID]bool
	boots  map[client.NodeID]string    // nil: none has been seen, by this service or a former one
	at     map[client.NodeID]time.Time // when one was seen to have been started anew
	looked bool                        // this service has seen a node table
	owed   map[place.Job]occasion      // of jobs that could not be started then
}

// occasion is why a job may be due: nodes that have come, or the first look.
type occasion struct {
	came  map[client.NodeID]bool
	first bool
}

// occasion returns why a job may be due now, including what it is still owed.
func (a *arrivals) occasion(j place.Job, came map[client.NodeID]bool, first bool) occasion {
	owed := a.owed[j]
	o := occasion{make(map[client.NodeID]bool), first || owed.first}
	maps.Copy(o.came, owed.came)
	maps.Copy(o.came, came)
	return o
}

// owes keeps the occasion of a job that cannot be started yet: its file is late, or its nodes are away. If later
// is false, nothing is in its way, and the occasion is forgotten.
func (a *arrivals) owes(j place.Job, o occasion, later bool) {
	if !later || !o.first && len(o.came) == 0 {
		delete(a.owed, j)
		return
	}
	if a.owed == nil {
		a.owed = make(map[place.Job]occasion)
	}
	a.owed[j] = o
}

// next takes in a node table, and returns the nodes that have come up since the last one. Nodes of
// the very first table do not count: they may have come up long ago.
func (a *arrivals) next(nodes []client.Node) (came map[client.NodeID]bool) {
	first := a.boots == nil
	if first {
		a.boots = make(map[client.NodeID]string)
	}
	if a.at == nil {
		a.at = make(map[client.NodeID]time.Time)
	}
	a.states, a.up, came = make(map[client.NodeID]string), make(map[client.NodeID]bool), make(map[client.NodeID]bool)
	for _, n := range nodes {
		a.states[n.ID] = n.State
		if n.State != "up" {
			continue
		}
		a.up[n.ID] = true
		if boot, seen := a.boots[n.ID]; !first && (!seen || boot != n.Boot) {
			came[n.ID] = true
			if seen {
				a.at[n.ID] = time.Now()
			}
		}
		a.boots[n.ID] = n.Boot
	}
	return came
}

// noticed bounds the time in which a supervisor learns of the end of a run: a lease, and the time to clear up.
const noticed = 2 * time.Minute

// missed reports whether a supervisor has yet to learn that its node is down, or was.
func (a *arrivals) missed(r place.Record) bool {
	anew := a.at[r.Node]
	return r.State != life.Waiting && r.Placed && (supervise.Gone(a.states[r.Node]) || r.Since.Before(anew) && time.Since(anew) < noticed)
}

// due reports whether a process of an autostart job must be started now. came means that one of its
// nodes has come up; otherwise one is up. A process that was stopped in the present boot of the front
// end stays stopped.
func due(r place.Record, came, first bool, now boot) bool {
	old := r.Boot != now.id // also if it was never started
	if r.Boot == "" || now.id == "" {
		old = r.Since.Before(now.at)
	}
	switch {
	case r.State == life.Failed && r.Exit.Cause == life.NodeWentDown:
		return true
	case came:
		return old || r.State != life.Stopped
	}
	return first && old
}

// startAll starts processes of jobs as nodes come up, until the context is done.
func (c *Command) startAll(ctx context.Context, root string) {
	client := new(client.Client)
	starts, reads := newStarts(c.startOf), newJobReads()
	defer starts.tasks.Wait()
	var a arrivals
	var err error
	if a.boots, err = readBoots(bootsFile); err != nil {
		c.say("%v", err)
	}
	var digest uint64
	pending := false
	for said := ""; ctx.Err() == nil; {
		next, err := awaitNodes(ctx, client, digest, pending)
		if err == nil && (next != digest || pending || !a.looked) {
			pending, err = c.startDue(ctx, root, client, &a, starts, reads)
		}
		if err == nil {
			digest, said = next, ""
			continue
		}
		if text := err.Error(); text != said && ctx.Err() == nil {
			c.say("%s", text)
			said = text
		}
		select {
		case <-time.After(askAgain):
		case <-ctx.Done():
		}
	}
}

// awaitNodes waits for a change of the node table, but only for askAgain if something is pending.
func awaitNodes(ctx context.Context, cl *client.Client, digest uint64, pending bool) (uint64, error) {
	if !pending {
		return cl.AwaitNodes(ctx, digest)
	}
	soon, cancel := context.WithTimeout(ctx, askAgain)
	defer cancel()
	next, err := cl.AwaitNodes(soon, digest)
	if soon.Err() != nil {
		return digest, nil
	}
	return next, err
}

// startDue begins to start the processes that are due after a change of the node table. pending
// means that it must look again soon: a supervisor does not know yet that its node is down, or a
// process is being started.
func (c *Command) startDue(ctx context.Context, root string, cl *client.Client, a *arrivals, starts *starts, reads *jobReads) (pending bool, err error) {
	nodes, err := cl.Nodes(ctx)
	if err != nil {
		return true, err
	}
	jobs, err := place.Jobs(root)
	if err != nil {
		return true, err
	}
	now, err := thisBoot()
	if err != nil {
		return true, err
	}
	first, before := !a.looked, maps.Clone(a.boots)
	came := a.next(nodes)
	a.looked = true
	reads.pass()
	for _, j := range jobs {
		o := a.occasion(j, came, first)
		job, owner, err := reads.inTime(j)
		late := errors.Is(err, errLate)
		a.owes(j, o, late)
		pending = pending || late
		if err != nil || !job.Autostart {
			continue // list prints the fault
		}
		ids, err := client.Resolve(job.Nodes.String(), nodes)
		if err == nil && !anyOf(ids, a.up) {
			a.owes(j, o, true)
		}
		if err != nil || !anyOf(ids, a.up) {
			continue
		}
		for _, f := range job.Processes {
			p := place.Process{Job: j, Process: f.Name}
			comes := anyOf(ids, o.came)
			started := starts.underWay(p, comes)
			r, alive, err := lookAt(p)
			switch {
			case err != nil:
				c.say("process %v is not started: %v", p, err)
				a.owes(j, o, true)
			case alive:
				pending = pending || a.missed(r)
			case started:
				pending = true
			case due(r, comes, o.first, now):
				starts.begin(ctx, p, owner)
			}
		}
	}
	if !maps.Equal(before, a.boots) {
		err = writeBoots(bootsFile, a.boots)
	}
	return pending, err
}

// lookAt returns the record of a process, and whether it has a supervisor.
func lookAt(p place.Process) (r place.Record, alive bool, err error) {
	if alive, err = p.Supervised(); err != nil {
		return r, false, err
	}
	r, err = p.Read()
	return r, alive, err
}

func anyOf(ids []client.NodeID, set map[client.NodeID]bool) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(set)), func(id client.NodeID) bool { return slices.Contains(ids, id) })
}

// startOf starts a process with the rights of the job file's owner. It reports whether that is done:
// the process was started, or stopped since a time. A start goes on when the service ends.
func (c *Command) startOf(ctx context.Context, p place.Process, owner uint32, since time.Time) (done bool) {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), startLimit, fmt.Errorf("process %v: its start takes more than %v", p, startLimit))
	defer cancel()
	cmd, err := as(ctx, owner, "start", "--"+sinceFlag, since.Format(time.RFC3339Nano), "-p", p.Process, p.Name)
	if err != nil {
		c.say("%v", err)
		return false
	}
	cmd.WaitDelay = askAgain
	text, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return true
	case ctx.Err() != nil:
		text = []byte(context.Cause(ctx).Error())
	}
	c.say("%s", strings.TrimPrefix(strings.TrimSpace(string(text)), "bpjob: "))
	r, err := p.Read()
	return err == nil && r.State == life.Stopped
}

// boot is a boot of this machine.
type boot struct {
	id string
	at time.Time // by the present clock, which may have been set since
}

func thisBoot() (boot, error) {
	var info unix.Sysinfo_t
	err := unix.Sysinfo(&info)
	return boot{procstat.BootID(), time.Now().Add(-time.Duration(info.Uptime) * time.Second)}, err
}
