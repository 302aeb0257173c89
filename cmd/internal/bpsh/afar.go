package bpsh

import (
	"context"
	"time"

	"bproc/internal/client"
	"bproc/wire"
)

// lookTime bounds a look at the processes of another node.
const lookTime = time.Second

// afar holds the processes of other nodes for a bpsh that runs on a node, whose kernel does not
// know them.
type afar struct {
	looks map[client.NodeID]*client.Look
	all   map[client.PID]listed
}

// watch adds a node to the nodes to look at. On the front end it adds none, since all processes
// have ghosts there.
func (a *afar) watch(node client.NodeID) {
	if a.looks[node] != nil {
		return
	}
	look, err := (&client.Client{Socket: client.NodeSocket}).Look(node)
	if err != nil {
		return
	}
	if a.looks == nil {
		a.looks, a.all = map[client.NodeID]*client.Look{}, map[client.PID]listed{}
	}
	a.looks[node] = look
}

// refresh looks at the nodes. A node that does not answer is dropped.
func (a *afar) refresh(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	for node, look := range a.looks {
		if look.Refresh(ctx, true, a.take) != nil {
			_ = look.Close()
			delete(a.looks, node)
		}
	}
}

func (a *afar) take(changed *wire.Changed) error {
	for i := range changed.Procs {
		if p, ok := parseStat(changed.Procs[i].Stat); ok {
			p.afar = true
			a.all[changed.Procs[i].PID] = p
		}
	}
	for _, pid := range changed.Ended {
		delete(a.all, pid)
	}
	return nil
}

// close ends the looks.
func (a *afar) close() {
	for _, look := range a.looks {
		_ = look.Close()
	}
	a.looks = nil
}
