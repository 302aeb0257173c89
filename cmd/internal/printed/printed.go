package printed

import (
	"cmp"
	"context"
	"io"

	"github.com/spf13/cobra"
)

// Output is a standard output that keeps the first write error, which cobra's help and many callers
// of package fmt ignore.
type Output struct {
	To  io.Writer
	err error
}

// Write implements [io.Writer].
func (o *Output) Write(b []byte) (int, error) {
	n, err := o.To.Write(b)
	o.err = cmp.Or(o.err, err)
	return n, err
}

// Execute runs a command with its standard output. It returns the command's error or else the first
// write error.
func Execute(ctx context.Context, cmd *cobra.Command, out *Output) error {
	cmd.SetOut(out)
	return cmp.Or(cmd.ExecuteContext(ctx), out.err)
}
