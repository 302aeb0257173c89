package bpsh

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"bproc/internal/client"
)

// outlets describes how the output of all nodes is passed on.
type outlets struct {
	stdout io.Writer
	stderr io.Writer
	lines  bool // whole lines
	prefix bool // ... after the node's number
	limit  int  // ... of at most so many bytes
	turns  bool // one node after the other
	header bool // ... with a line before each
	group  bool // standard output is kept; standard error in lines after the node's number
	kept   bool // both are kept
	label  bool // the prefix is the rank
	ranks  int  // number of ranks
}

// outlet passes on one node's output.
type outlet struct {
	stdout io.Writer
	stderr io.Writer
	lines  []*lines
	spool  *spool
	text   *text // with --group
}

func newOutlets(sh *Shell, o *options) outlets {
	stderr := sh.Stderr
	if onePipe(sh.Stdout, sh.Stderr) {
		stderr = sh.Stdout // so that no line comes within a write of others
	}
	return outlets{
		stdout: sh.Stdout, stderr: stderr,
		lines: o.lineBuffer || o.prefix || o.group || o.label, prefix: o.prefix || o.group, limit: o.lineLength,
		turns: o.sequential || o.divider, header: o.divider, group: o.group, kept: o.json, label: o.label,
	}
}

// onePipe reports whether both are the same pipe or socket. The kernel lets a write pass within a large
// one there (pipe(7), PIPE_BUF).
func onePipe(stdout, stderr io.Writer) bool {
	out, ok := client.FileOf(stdout)
	bad, is := client.FileOf(stderr)
	if !ok || !is {
		return false
	}
	one, err := out.Stat()
	other, otherErr := bad.Stat()
	return err == nil && otherErr == nil && one.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0 && os.SameFile(one, other)
}

func (o outlets) open(t task) *outlet {
	out := &outlet{stdout: o.stdout, stderr: o.stderr}
	if o.turns || o.group || o.kept {
		out.spool = &spool{out: [2]io.Writer{o.stdout, o.stderr}}
		if o.header {
			out.spool.header = divider(t.node.String())
		}
	}
	if o.turns || o.kept {
		out.stdout, out.stderr = out.spool.stream(0), out.spool.stream(1)
	}
	if o.lines {
		prefix := o.before(t)
		stdout := &lines{out: out.stdout, prefix: prefix, limit: o.limit}
		stderr := &lines{out: out.stderr, prefix: prefix, limit: o.limit}
		out.stdout, out.stderr, out.lines = stdout, stderr, []*lines{stdout, stderr}
	}
	if o.group {
		out.text = newText(out.spool.stream(0))
		out.stdout = out.text
	}
	return out
}

// before returns the prefix of each line: the number of the node, or the rank with as many digits
// as the largest rank.
func (o outlets) before(t task) string {
	switch {
	case o.label:
		return fmt.Sprintf("%0*d: ", len(strconv.Itoa(o.ranks-1)), t.rank)
	case o.prefix:
		return fmt.Sprintf("%3d: ", t.node)
	}
	return ""
}

// close passes on incomplete last lines at the end of the output.
func (o *outlet) close() error {
	var err error
	for _, l := range o.lines {
		err = errors.Join(err, l.flush())
	}
	return err
}
