package bpstat

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"bproc/internal/client"
)

// jsonLoad is the load of a node for other programs. Names and meanings must not change.
type jsonLoad struct {
	Number    client.NodeID `json:"number"`
	Status    string        `json:"status"`
	Processes uint32        `json:"processes"` // of the front end
	Problem   string        `json:"problem,omitempty"`
	Load      *jsonSample   `json:"load,omitempty"`
}

type jsonSample struct {
	Averages  [3]float64 `json:"averages"` // of 1, 5 and 15 minutes
	Running   uint32     `json:"running"`
	Threads   uint32     `json:"threads"`
	Memory    uint64     `json:"memory"` // bytes
	Available uint64     `json:"available"`
	Swap      uint64     `json:"swap"`
	SwapFree  uint64     `json:"swap_free"`
	Uptime    uint64     `json:"uptime"` // seconds
}

// printLoad prints the load of nodes.
func (s *Stat) printLoad(ctx context.Context, out io.Writer, o *options, nodes []client.Node) error {
	var ids []client.NodeID
	for i := range nodes {
		ids = append(ids, nodes[i].ID)
	}
	slices.Sort(ids)
	loads := map[client.NodeID]client.NodeLoad{}
	if len(ids) > 0 {
		list, err := s.Client.Loads(ctx, slices.Compact(ids))
		if err != nil {
			return err
		}
		for _, l := range list {
			loads[l.ID] = l
		}
	}
	if o.json {
		all := make([]jsonLoad, len(nodes))
		for i := range nodes {
			all[i] = loadOf(&nodes[i], loads[nodes[i].ID])
		}
		return encode(out, o, all)
	}
	fmt.Fprintf(out, "%4s %-12s %20s %9s %6s %9s %9s %9s %s\n", "Node", "Status", "Load average      ", "Running", "Procs", "Memory", "Available", "Swapped", "Up")
	for i := range nodes {
		n := &nodes[i]
		l := loads[n.ID].Load
		if l == nil {
			fmt.Fprintf(out, "%4d %s %s\n", n.ID, s.state(o, n.State, 12), problem(loads[n.ID].Errno))
			continue
		}
		fmt.Fprintf(out, "%4d %s %6.2f %6.2f %6.2f %9s %6d %9s %9s %9s %s\n", n.ID, s.state(o, n.State, 12),
			hundredths(l.Averages[0]), hundredths(l.Averages[1]), hundredths(l.Averages[2]), fmt.Sprintf("%d/%d", l.Running, l.Threads), n.Procs,
			size(l.Memory), size(l.Available), size(l.Swap-min(l.Swap, l.SwapFree)), uptime(l.Uptime))
	}
	return nil
}

func hundredths(n uint32) float64 { return float64(n) / 100 }

// uptime formats seconds as days, hours and minutes.
func uptime(seconds uint64) string {
	minutes := seconds / uint64(time.Minute/time.Second)
	text := fmt.Sprintf("%d:%02d", minutes/60%24, minutes%60)
	if days := minutes / 60 / 24; days > 0 {
		text = fmt.Sprintf("%dd %s", days, text)
	}
	return text
}

func loadOf(n *client.Node, l client.NodeLoad) jsonLoad {
	j := jsonLoad{Number: n.ID, Status: n.State, Processes: n.Procs, Problem: problem(l.Errno)}
	if s := l.Load; s != nil {
		j.Load = &jsonSample{Running: s.Running, Threads: s.Threads, Memory: s.Memory, Available: s.Available, Swap: s.Swap, SwapFree: s.SwapFree, Uptime: s.Uptime}
		for i, a := range s.Averages {
			j.Load.Averages[i] = hundredths(a)
		}
	}
	return j
}
