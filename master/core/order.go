package core

import (
	"cmp"
	"maps"
	"slices"

	"bproc/wire"
)

// The outputs of the core must follow from its inputs alone, so it goes through its tables in
// order.

// inOrder returns the keys of a table.
func inOrder[K cmp.Ordered, V any](table map[K]V) []K { return slices.Sorted(maps.Keys(table)) }

// onNodeInOrder returns the processes of a node.
func (c *Core) onNodeInOrder(id wire.NodeID) []*proc {
	there := c.onNode[id]
	all := make([]*proc, 0, len(there))
	for _, pid := range inOrder(there) {
		all = append(all, there[pid])
	}
	return all
}

// budgetsInOrder returns the budgets of all users.
func (c *Core) budgetsInOrder() []*budget {
	all := make([]*budget, 0, len(c.budgets))
	for _, uid := range inOrder(c.budgets) {
		all = append(all, c.budgets[uid])
	}
	return all
}
