package bpstat

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"bproc/internal/client"
)

// printProcs prints the processes on the selected nodes.
func (s *Stat) printProcs(ctx context.Context, out io.Writer, o *options) error {
	wanted := map[client.NodeID]bool{}
	if o.nodes != "" {
		nodes, err := s.nodes(ctx, o.nodes)
		if err != nil {
			return err
		}
		for i := range nodes {
			wanted[nodes[i].ID] = true
		}
	}
	procs, err := s.Client.Procs(ctx)
	if err != nil {
		return err
	}
	procs = slices.DeleteFunc(procs, func(p client.Proc) bool { return o.nodes != "" && !wanted[p.Node] })
	if o.json {
		list := make([]jsonProc, len(procs))
		for i, p := range procs {
			list[i] = jsonProc{p.PID, p.Node}
		}
		return encode(out, o, list)
	}
	fmt.Fprint(out, "PID\tNode\n")
	for _, p := range procs {
		fmt.Fprintf(out, "%d\t%d\n", p.PID, p.Node)
	}
	return nil
}

// maxPSLine bounds a line of ps, which prints complete command lines.
const maxPSLine = 4 << 20

// printPS copies the output of ps with the node before each line. The process number is in the
// column that the first line calls PID. Without such a header it is the first number of each line.
func (s *Stat) printPS(ctx context.Context, out io.Writer) error {
	procs, err := s.Client.Procs(ctx)
	if err != nil {
		return err
	}
	nodes := make(map[client.PID]client.NodeID, len(procs))
	for _, p := range procs {
		nodes[p.PID] = p.Node
	}
	lines := bufio.NewScanner(s.Stdin)
	lines.Buffer(nil, maxPSLine)
	column := -1
	for first := true; lines.Scan(); first = false {
		line := lines.Text()
		if first {
			column = slices.Index(strings.Fields(line), "PID")
			if column >= 0 {
				fmt.Fprintf(out, "NODE\t%s\n", line)
				continue
			}
		}
		node := ""
		if n, ok := nodes[pidOf(line, column)]; ok {
			node = n.String()
		}
		fmt.Fprintf(out, "%s\t%s\n", node, line)
	}
	return lines.Err()
}

// pidOf returns the process number in a column of a line or, if the column is negative, the first
// number, or 0 if there is none.
func pidOf(line string, column int) client.PID {
	fields := strings.Fields(line)
	if column >= 0 && column < len(fields) {
		fields = fields[column : column+1]
	} else if column >= 0 {
		return 0
	}
	for _, f := range fields {
		if pid, err := strconv.ParseInt(f, 10, 32); err == nil {
			return client.PID(pid)
		}
	}
	return 0
}
