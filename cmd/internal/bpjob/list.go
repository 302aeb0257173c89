package bpjob

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"bproc/internal/job/life"
	"bproc/internal/job/place"
	"bproc/internal/onscreen"
	"bproc/wire"
)

// listed is the public state of a process. The JSON is described in bpjob(1).
type listed struct {
	Name    string       `json:"name"`
	Job     string       `json:"job"`
	Process string       `json:"process"`
	State   string       `json:"state"`
	PID     wire.PID     `json:"pid,omitempty"`
	Node    *wire.NodeID `json:"node,omitempty"`
	Runs    uint64       `json:"runs"`
	Since   *time.Time   `json:"since,omitempty"`
	Exit    *exit        `json:"exit,omitempty"`
	Reason  string       `json:"reason,omitempty"`
	Trouble string       `json:"trouble,omitempty"`
}

// exit is the end of the last run.
type exit struct {
	Code   int        `json:"code"`
	Signal int        `json:"signal"`
	Cause  life.Cause `json:"cause,omitempty"`
}

func tell(p place.Process, r place.Record) listed {
	l := listed{Name: p.String(), Job: p.Name, Process: p.Process, State: r.State.String(), PID: r.PID, Runs: r.Run, Reason: r.Reason, Trouble: r.Trouble}
	if r.Run == 0 {
		return l
	}
	l.Since = &r.Since
	if r.Placed {
		l.Node = &r.Node
	}
	if !r.State.Active() {
		l.Exit = &exit{r.Exit.Code, r.Exit.Signal, r.Exit.Cause}
	}
	return l
}

// end says in a word or two how the last run ended, if the state does not.
func (l *listed) end() string {
	switch {
	case l.Exit == nil || *l.Exit == exit{}:
		return ""
	case l.Exit.Cause != "":
		return string(l.Exit.Cause)
	}
	return life.Exit{Code: l.Exit.Code, Signal: l.Exit.Signal}.String()
}

func (c *Command) listCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list [--json]", Short: "List the processes of all jobs", Args: nothing,
		DisableFlagsInUseLine: true,
		RunE:                  func(*cobra.Command, []string) error { return c.list(asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (c *Command) list(asJSON bool) error {
	root, err := place.Root()
	if err != nil {
		return err
	}
	jobs, err := place.Jobs(root)
	if err != nil {
		return err
	}
	all := []listed{}
	var failed error
	seen := make(map[place.Process]bool)
	reads := newJobReads()
	reads.pass()
	for _, j := range jobs {
		job, _, err := reads.inTime(j)
		if errors.Is(err, errNoJob) {
			continue
		}
		if err != nil {
			c.say("%v", err)
			continue
		}
		for _, f := range job.Processes {
			p := place.Process{Job: j, Process: f.Name}
			r, err := p.Read()
			failed = errors.Join(failed, err)
			all = append(all, tell(p, r))
			seen[p] = true
		}
	}
	others, err := place.Started(root)
	failed = errors.Join(failed, err)
	for _, p := range others {
		if seen[p] {
			continue
		}
		r, err := p.Read()
		failed = errors.Join(failed, err)
		if r.State.Active() || r.State == life.Waiting { // its job file has changed since
			all = append(all, tell(p, r))
		}
	}
	return errors.Join(c.print(all, asJSON), failed)
}

func (c *Command) print(all []listed, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(c.Stdout)
		e.SetIndent("", "  ")
		return e.Encode(all)
	}
	w := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	row := func(columns ...string) {
		if c.BPM {
			columns = columns[:bpmColumns]
		}
		fmt.Fprintln(w, strings.Join(columns, "\t"))
	}
	row("Name", "Pid", "Status", "Node", "End")
	for _, l := range all {
		pid, node, end := "-", "-", l.end()
		if l.PID != 0 {
			pid = l.PID.String()
		}
		if l.Node != nil {
			node = strconv.Itoa(int(*l.Node))
		}
		if end == "" {
			end = "-"
		}
		row(l.Name, pid, l.State, node, end)
	}
	return w.Flush()
}

func (c *Command) pidCommand() *cobra.Command {
	cmd, _ := forJob("pid [-p process] job", "Print the number of a process of a job", func(_ context.Context, s selection) error {
		p, err := at(s)
		if err != nil {
			return err
		}
		r, err := running(p)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(c.Stdout, r.PID)
		return err
	})
	return cmd
}

func (c *Command) statusCommand() *cobra.Command {
	var asJSON bool
	cmd, _ := forJob("status [-p process] [--json] job", "Say what is known of a process of a job", func(_ context.Context, s selection) error {
		p, err := at(s)
		if err == nil {
			err = known(p)
		}
		if err != nil {
			return err
		}
		r, err := p.Read()
		if err != nil {
			return err
		}
		return c.status(tell(p, r), asJSON)
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (c *Command) status(l listed, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(c.Stdout)
		e.SetIndent("", "  ")
		return e.Encode(l)
	}
	out := bufio.NewWriter(c.Stdout)
	line := func(name string, value any) { fmt.Fprintf(out, "%-8s %s\n", name, onscreen.Line(fmt.Sprint(value))) }
	line("name", l.Name)
	line("state", l.State)
	if l.PID != 0 {
		line("pid", l.PID)
	}
	if l.Node != nil {
		line("node", *l.Node)
	}
	line("runs", l.Runs)
	if l.Since != nil {
		line("since", l.Since.Format(time.RFC3339))
	}
	if end := l.end(); end != "" {
		line("end", end)
	}
	if l.Reason != "" {
		line("reason", l.Reason)
	}
	if l.Trouble != "" {
		line("trouble", l.Trouble)
	}
	return out.Flush()
}
