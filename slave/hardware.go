package slave

import (
	"context"
	"io"

	"bproc/wire"
)

// tellHardware writes to a stream what this machine is, or why that is not known.
func (n *node) tellHardware(ctx context.Context, stream io.Writer, m *wire.ReadHardware) error {
	h, err := n.hardware.Read(ctx, m.Fresh)
	if err != nil {
		n.log.Warn("it is not known what this machine is", "err", err)
		h = &wire.Hardware{Failed: []string{err.Error()}}
		h.Trim()
	}
	return wire.Write(stream, 0, h)
}
