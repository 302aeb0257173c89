package core

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// SetLabels changes the tags and attributes of a node. It is answered by [Reply].
type SetLabels struct {
	Client Client
	Who    Caller
	Change wire.SetLabels
}

func (in SetLabels) apply(c *Core) {
	n := c.nodes.byID[in.Change.Node]
	if failed := maySetLabels(in.Who, n, &in.Change); failed != nil {
		c.emit(Reply{in.Client, failed})
		return
	}
	labels, err := n.labelled(&in.Change)
	if err != nil {
		c.emit(Reply{in.Client, &wire.Failed{Stage: wire.StageNode, Errno: uint32(unix.ENOSPC), Text: err.Error()}})
		return
	}
	t := &labelling{client: in.Client, n: n, before: n.Labels}
	if n.Labels = labels; labels == t.before {
		t.kept(c, nil)
		return
	}
	c.keepNodes(t, n)
}

// maySetLabels returns why labels cannot be changed so; nil: they can be.
func maySetLabels(who Caller, n *node, m *wire.SetLabels) *wire.Failed {
	refuse := func(errno unix.Errno, text string) *wire.Failed {
		return &wire.Failed{Stage: wire.StageNode, Errno: uint32(errno), Text: text}
	}
	switch {
	case n == nil:
		return refuse(unix.ENXIO, "")
	case who.UID != 0:
		return refuse(unix.EPERM, "")
	}
	for _, l := range m.Set {
		if !wire.IsLabel(l) {
			return refuse(unix.EINVAL, fmt.Sprintf("%q is no tag and no attribute", short(l)))
		}
		if name := labelName(l); slices.Contains(wire.OwnAttributes, name) {
			return refuse(unix.EINVAL, fmt.Sprintf("%s is what the node says of itself", name))
		}
	}
	for _, name := range m.Remove {
		if !wire.IsLabelName(name) {
			return refuse(unix.EINVAL, fmt.Sprintf("%q is no name of a tag or an attribute", short(name)))
		}
	}
	return nil
}

// short cuts a text that is wrong for a message about it.
func short(s string) string { return s[:min(len(s), 100)] }

// labelName returns the name of a tag or an attribute.
func labelName(label string) string {
	name, _, _ := strings.Cut(label, "=")
	return name
}

// labels returns the tags and attributes of a node, in the order of their names.
func (n *node) labels() []string { return strings.Fields(n.Labels) }

// labelled returns the labels that a node has after a change.
func (n *node) labelled(m *wire.SetLabels) (string, error) {
	by := map[string]string{}
	for _, l := range append(n.labels(), m.Set...) {
		by[labelName(l)] = l
	}
	for _, name := range m.Remove {
		delete(by, name)
	}
	if len(by) > wire.MaxLabels {
		return "", fmt.Errorf("it would have %d tags and attributes; %d are possible", len(by), wire.MaxLabels)
	}
	var labels []string
	for _, name := range inOrder(by) {
		labels = append(labels, by[name])
	}
	return strings.Join(labels, " "), nil
}

// labelling is a change of labels, which is to be kept.
type labelling struct {
	client Client
	n      *node
	before string
}

func (t *labelling) kept(c *Core, err error) {
	if err != nil {
		c.log.Error("tags of a node are not kept", "node", t.n.ID, "err", err)
		t.n.Labels = t.before
		c.emit(Reply{t.client, &wire.Failed{Stage: wire.StageNode, Errno: uint32(unix.EIO)}})
		return
	}
	c.emit(Reply{t.client, new(wire.Done)})
}
