package core

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// label changes the tags and attributes of a node, or returns why the change is refused.
func (n *node) label(m *wire.SetNodes) (errno unix.Errno, why string) {
	if len(m.Set) == 0 && len(m.Remove) == 0 {
		return 0, ""
	}
	for _, l := range m.Set {
		if !wire.IsLabel(l) {
			return unix.EINVAL, fmt.Sprintf("%q is no tag and no attribute", short(l))
		}
		if name := labelName(l); slices.Contains(wire.OwnAttributes, name) {
			return unix.EINVAL, fmt.Sprintf("%s is what the node says of itself", name)
		}
	}
	for _, name := range m.Remove {
		if !wire.IsLabelName(name) {
			return unix.EINVAL, fmt.Sprintf("%q is no name of a tag or an attribute", short(name))
		}
	}
	labels, err := n.labelled(m)
	if err != nil {
		return unix.ENOSPC, err.Error()
	}
	n.Labels = labels
	return 0, ""
}

// short cuts a wrong text for a message about it.
func short(s string) string { return s[:min(len(s), 100)] }

// labelName returns the name of a tag or an attribute.
func labelName(label string) string {
	name, _, _ := strings.Cut(label, "=")
	return name
}

// labels returns the tags and attributes of a node, in the order of their names.
func (n *node) labels() []string { return strings.Fields(n.Labels) }

// labelled returns the labels that a node has after a change.
func (n *node) labelled(m *wire.SetNodes) (string, error) {
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
