package bpsh

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"bproc/internal/client"
)

// outlets makes the way that each node's output takes.
type outlets struct {
	stdout io.Writer
	stderr io.Writer
	lines  bool // whole lines
	prefix bool // ... after the node's number
	limit  int  // ... of at most so many bytes
	turns  bool // one node after the other
	header bool // ... with a line before each
}

// outlet is the way of one node's output.
type outlet struct {
	stdout io.Writer
	stderr io.Writer
	lines  []*lines
	spool  *spool
}

func newOutlets(sh *Shell, o *options) outlets {
	return outlets{
		stdout: sh.Stdout, stderr: sh.Stderr,
		lines: o.lineBuffer || o.prefix, prefix: o.prefix, limit: o.lineLength,
		turns: o.sequential || o.divider, header: o.divider,
	}
}

// divider is what -d prints before the output of a node.
func divider(node client.NodeID) string {
	return fmt.Sprintf("%d\t%s\n", node, strings.Repeat("-", 69))
}

func (o outlets) open(node client.NodeID) *outlet {
	out := &outlet{stdout: o.stdout, stderr: o.stderr}
	if o.turns {
		out.spool = &spool{out: [2]io.Writer{o.stdout, o.stderr}}
		if o.header {
			out.spool.header = divider(node)
		}
		out.stdout, out.stderr = out.spool.stream(0), out.spool.stream(1)
	}
	if o.lines {
		prefix := ""
		if o.prefix {
			prefix = fmt.Sprintf("%3d: ", node)
		}
		stdout := &lines{out: out.stdout, prefix: prefix, limit: o.limit}
		stderr := &lines{out: out.stderr, prefix: prefix, limit: o.limit}
		out.stdout, out.stderr, out.lines = stdout, stderr, []*lines{stdout, stderr}
	}
	return out
}

// close passes on what is kept of an output that has come to its end.
func (o *outlet) close() error {
	var err error
	for _, l := range o.lines {
		err = errors.Join(err, l.flush())
	}
	return err
}
