package bpstat

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"bproc/internal/client"
)

// jsonNumbers is the use of process numbers for other programs. Names and meanings must not change.
type jsonNumbers struct {
	Numbers uint32            `json:"numbers"`    // of all nodes
	Home    uint32            `json:"home"`       // expected size of one home, with its gap
	Homes   uint32            `json:"homes_free"` // homes for which there is still room
	Pool    uint32            `json:"pool"`       // given by demand, including gaps
	Free    uint32            `json:"pool_free"`
	Nodes   []jsonNodeNumbers `json:"nodes"`
}

type jsonNodeNumbers struct {
	Number   client.NodeID `json:"number"`
	Status   string        `json:"status"`
	Home     uint32        `json:"home"`     // reserved for this node
	Borrowed uint32        `json:"borrowed"` // from the pool
	Blocks   uint32        `json:"blocks"`   // that the node holds now
	Short    bool          `json:"short"`    // the node wants more, and none are left
}

// printNumbers prints the use of process numbers, and the numbers of each node.
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
