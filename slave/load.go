package slave

import (
	"io"

	"bproc/slave/load"
	"bproc/wire"
)

// tellLoad writes to a stream how busy this machine is. The load is measured only on request.
func tellLoad(stream io.Writer) error {
	s, err := load.Sample()
	if err != nil {
		return err
	}
	return wire.Write(stream, 0, s)
}
