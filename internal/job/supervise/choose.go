package supervise

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bproc/internal/client"
	"bproc/internal/job/place"
	"bproc/internal/job/spec"
)

// choose returns the node for the next run: that of the job's other processes, if it is up; the one of
// the last run, if it may be that and is up; else the first.
func (s *Supervisor) choose(ctx context.Context, former place.Record, others *client.NodeID) (client.NodeID, error) {
	nodes, err := s.Client.Nodes(ctx)
	if err != nil {
		return 0, err
	}
	ids, err := client.Resolve(s.Nodes, nodes)
	if err != nil {
		return 0, err
	}
	var up []client.NodeID // all on which it can be started
	for _, n := range nodes {
		if n.State == "up" && mayUse(&s.Spec, n) {
			up = append(up, n.ID)
		}
	}
	if others != nil && slices.ContainsFunc(nodes, func(n client.Node) bool { return n.ID == *others && n.State == "up" }) {
		if !slices.Contains(ids, *others) && !strings.Contains(s.Nodes, "random:") { // which would be another one each time
			return 0, fmt.Errorf("other processes of job %s run on node %d, which is not one of %q: all run on the same", s.Place.Name, *others, s.Nodes)
		}
		return *others, nil
	}
	ids = slices.DeleteFunc(slices.Clone(ids), func(id client.NodeID) bool { return !slices.Contains(up, id) })
	switch {
	case len(ids) == 0 && s.Spec.Ordinary:
		return 0, fmt.Errorf("no node of %q is up and yours to use", s.Nodes)
	case len(ids) == 0:
		return 0, fmt.Errorf("no node of %q is up", s.Nodes)
	case former.Placed && slices.Contains(ids, former.Node):
		return former.Node, nil
	}
	return ids[0], nil
}

// mayUse reports whether the user who has asked for the process may start some on a node (bproc(7)): root asks
// the master in that user's place.
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

// isDown reports whether an error says that a node is down: nothing of the job is there any more.
func isDown(err error) bool {
	var e *client.Error
	return errors.As(err, &e) && e.Stage == client.StageNode
}
