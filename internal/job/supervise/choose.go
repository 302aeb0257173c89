package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"bproc/internal/client"
	"bproc/internal/job/place"
	"bproc/internal/job/spec"
)

// choose returns the node for the next run.
func (s *Supervisor) choose(ctx context.Context, former place.Record, others *client.NodeID) (client.Node, error) {
	nodes, err := s.Client.Nodes(ctx)
	if err == nil && others != nil && isAway(nodes, *others) {
		// Clearing waits until the node is back, with the other processes, or certainly down.
		if _, err := s.clear(ctx, *others); err != nil {
			return client.Node{}, err
		}
		nodes, err = s.Client.Nodes(ctx)
	}
	if err != nil {
		return client.Node{}, err
	}
	return s.pick(nodes, former, others)
}

// isAway reports whether a node is not connected.
func isAway(nodes []client.Node, id client.NodeID) bool {
	return slices.ContainsFunc(nodes, func(n client.Node) bool { return n.ID == id && n.State == "down" })
}

// pick returns the node of the job's other processes, unless it is down; else the node of the last
// run, if it is allowed and up; else the first node.
func (s *Supervisor) pick(nodes []client.Node, former place.Record, others *client.NodeID) (none client.Node, err error) {
	ids, err := client.Resolve(s.Nodes, nodes)
	if err != nil {
		return none, err
	}
	table := make(map[client.NodeID]client.Node)
	for _, n := range nodes {
		table[n.ID] = n
	}
	usable := func(id client.NodeID) bool { return table[id].State == "up" && mayUse(&s.Spec, table[id]) }
	if others != nil && !Gone(table[*others].State) {
		n := table[*others]
		switch {
		case !slices.Contains(ids, n.ID) && !strings.Contains(s.Nodes, "random:"): // random: gives other nodes each time
			return none, fmt.Errorf("other processes of job %s run on node %d, which is not one of %q: all run on the same", s.Place.Name, n.ID, s.Nodes)
		case n.State != "up":
			return none, fmt.Errorf("other processes of job %s run on node %d, which is %s: all run on the same", s.Place.Name, n.ID, n.State)
		case !usable(n.ID):
			return none, fmt.Errorf("other processes of job %s run on node %d, which is not yours to use: all run on the same", s.Place.Name, n.ID)
		}
		return n, nil
	}
	ids = slices.DeleteFunc(slices.Clone(ids), func(id client.NodeID) bool { return !usable(id) })
	switch {
	case len(ids) == 0 && s.Spec.Ordinary:
		return none, fmt.Errorf("no node of %q is up and yours to use", s.Nodes)
	case len(ids) == 0:
		return none, fmt.Errorf("no node of %q is up", s.Nodes)
	case former.Placed && slices.Contains(ids, former.Node):
		return table[former.Node], nil
	}
	return table[ids[0]], nil
}

// Gone reports whether nothing of a job is left on a node with this state; "" stands for a node outside
// of the table.
func Gone(state string) bool { return state == "" || state == "down" || state == "boot" }

// introduce starts a command for the user of the process on a node with limited trust. The front
// end believes such a node only about users for whom something was started there (bproc(7)), and
// would show the process as nobody's. A user who may not start anything there stays unknown.
func (s *Supervisor) introduce(ctx context.Context, n client.Node) {
	if s.Spec.UID == 0 || n.Trust != "limited" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	_ = s.asUser(exec.CommandContext(ctx, filepath.Join(filepath.Dir(s.Copier), "bpsh"), "-n", n.ID.String(), "true")).Run()
}

// forUser are the environment variables of commands that run as the user of a process. The user, and
// nodes with limited trust, learn nothing else of root's environment.
var forUser = []string{"PATH", "BPROC_SOCKET"}

// asUser makes a command of the front end run as the user of the process: in a session of its own, for
// the user may trace it, and the terminal of this one may be root's.
func (s *Supervisor) asUser(cmd *exec.Cmd) *exec.Cmd {
	cmd.Dir, cmd.Env = "/", []string{} // nil would be root's
	for _, name := range forUser {
		if value, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: s.Spec.UID, Gid: s.Spec.GID, Groups: s.Spec.Groups}}
	return cmd
}

// mayUse reports whether the user who asked for the process may start processes on a node
// (bproc(7)). The master sees root's requests, so it does not check that.
func mayUse(s *spec.Spec, n client.Node) bool {
	switch {
	case !s.Ordinary:
		return true
	case s.UID == n.UID:
		return n.Mode&0o100 != 0
	case s.GID == n.GID || slices.Contains(s.Groups, n.GID):
		return n.Mode&0o010 != 0
	}
	return n.Mode&0o001 != 0
}

// isDown reports whether a command failed since its node is down. If the command only ends processes,
// none is left there.
func isDown(err error) bool {
	var e *client.Error
	return errors.As(err, &e) && e.Stage == client.StageNode && (e.Errno == unix.EHOSTDOWN && e.Text == "" || e.Errno == unix.ENXIO)
}

// isUncertain reports whether an error of a command that only ends processes says that some may be
// left on a node that is away. The master knows more when the node's lease has run out.
func isUncertain(err error) bool {
	var e *client.Error
	return errors.As(err, &e) && e.Stage == client.StageNode && e.Errno == unix.EAGAIN
}
