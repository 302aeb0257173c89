package bpstat

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"bproc/internal/client"
)

// jsonNumbers is how process numbers are used, as programs read it. Names and meanings stay as
// they are.
type jsonNumbers struct {
	Numbers uint32            `json:"numbers"`    // of all nodes
	Home    uint32            `json:"home"`       // of one that is expected, with its gap
	Homes   uint32            `json:"homes_free"` // for which there is room yet
	Pool    uint32            `json:"pool"`       // by demand, with gaps
	Free    uint32            `json:"pool_free"`
	Nodes   []jsonNodeNumbers `json:"nodes"`
}

type jsonNodeNumbers struct {
	Number   client.NodeID `json:"number"`
	Status   string        `json:"status"`
	Home     uint32        `json:"home"`     // that no other node gets
	Borrowed uint32        `json:"borrowed"` // of the pool
	Blocks   uint32        `json:"blocks"`   // that the node has now
	Short    bool          `json:"short"`    // it wants more, and there were none
}

// printNumbers prints how process numbers are used, and what nodes have of them.
func (s *Stat) printNumbers(ctx context.Context, out io.Writer, o *options, nodes []client.Node) error {
	list, err := s.Client.Numbers(ctx)
	if err != nil {
		return err
	}
	all := jsonNumbers{Numbers: list.Numbers, Home: list.Home, Homes: list.Homes, Pool: list.Pool, Free: list.Free, Nodes: []jsonNodeNumbers{}}
	for i := range nodes {
		at, ok := slices.BinarySearchFunc(list.Nodes, nodes[i].ID, func(n client.NodeNumbers, id client.NodeID) int { return int(n.ID - id) })
		if !ok {
			continue // it has just joined
		}
		n := list.Nodes[at]
		all.Nodes = append(all.Nodes, jsonNodeNumbers{n.ID, nodes[i].State, n.Home, n.Borrowed, n.Blocks, n.Short})
	}
	if o.json {
		return encode(out, o, all)
	}
	return all.print(out)
}

func (j *jsonNumbers) print(out io.Writer) error {
	fmt.Fprintf(out, "%d process numbers for all nodes; a home has %d, and there is room for %d more\n", j.Numbers, j.Home, j.Homes)
	fmt.Fprintf(out, "%d in the pool, %d of them free\n", j.Pool, j.Free)
	if len(j.Nodes) == 0 {
		return nil
	}
	const gap = 2
	t := tabwriter.NewWriter(out, 0, 0, gap, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "Node\tHome\tBorrowed\tBlocks\t")
	for _, n := range j.Nodes {
		short := ""
		if n.Short {
			short = "  wants more"
		}
		fmt.Fprintf(t, "%d\t%d\t%d\t%d\t%s\n", n.Number, n.Home, n.Borrowed, n.Blocks, short)
	}
	return t.Flush()
}
