package sim

import (
	"slices"

	"bproc/wire"
)

// claimsOthers returns an inventory with the processes of all other nodes besides: a node that lies.
func (n *node) claimsOthers(inv wire.Inventory) wire.Inventory {
	n.sim.fault("false claim", n.id)
	births, parents := map[wire.PID]uint64{}, map[wire.PID]wire.PID{}
	for i, pid := range inv.PIDs {
		births[pid], parents[pid] = inv.Births[i], inv.Parents[i]
	}
	for _, g := range n.sim.keeper.ghosts() {
		if _, own := births[g.pid]; !own && nodeOf(g.adopted.Owner) != n.id {
			births[g.pid], parents[g.pid] = g.adopted.Birth, g.adopted.Parent
			inv.PIDs = append(slices.Clip(inv.PIDs), g.pid)
		}
	}
	inv.PIDs = slices.Sorted(slices.Values(inv.PIDs))
	inv.Births, inv.Parents = nil, nil
	for _, pid := range inv.PIDs {
		inv.Births, inv.Parents = append(inv.Births, births[pid]), append(inv.Parents, parents[pid])
	}
	return inv
}
