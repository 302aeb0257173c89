package printed

import (
	"cmp"
	"context"
	"io"

	"github.com/spf13/cobra"
)

// Output is standard output. It keeps the first error of a write, which cobra's help and many
// callers of package fmt ignore.
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

// Execute runs a command with its standard output. The error is the command's, or else that of
// a write.
func Execute(ctx context.Context, cmd *cobra.Command, out *Output) error {
	cmd.SetOut(out)
	return cmp.Or(cmd.ExecuteContext(ctx), out.err)
}
