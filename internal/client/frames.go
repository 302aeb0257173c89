package client

import (
	"bytes"
	"fmt"
	"slices"

	"bproc/wire"
)

// piece is output that has come: of standard output (0) or error (1). Without data it
// is the end of the file.
type piece struct {
	of   int
	data []byte
}

// frames takes the frames of a process off a connection. Bytes go on as they come in,
// whole frames or not.
type frames struct {
	due    [2]bool   // the output is a stream, and its end has not come
	stream [2]bool   // it is one at all
	got    [2]uint64 // bytes of it
	taken  uint64    // of standard input

	past      bool   // the connection is a bypass, where the node says all, and not what the master says
	number    uint64 // of the last event before the output that has come
	effective uint64 // event that has had its effect

	of     int // whose frame is under way
	left   int // bytes of it still to come
	header [wire.HeaderSize]byte
	have   int // bytes of the next header

	report []byte      // of a frame that says how the process has ended, as far as it has come
	ended  *wire.Ended // nil: it has not come
}

// ofReport is whose frame is under way that is of no output.
const ofReport = 2

// renew begins with another connection.
func (f *frames) renew() {
	f.left, f.have, f.report, f.past, f.number, f.effective = 0, 0, nil, false, 0, 0
}

// take appends the output in the next bytes of a connection to pieces. It is valid as
// long as they are.
func (f *frames) take(pieces []piece, b []byte) ([]piece, error) {
	for len(b) > 0 {
		if f.left > 0 {
			n := min(f.left, len(b))
			f.left -= n
			if f.of == ofReport {
				if err := f.takeReport(b[:n]); err != nil {
					return pieces, err
				}
			} else {
				pieces = append(pieces, piece{f.of, b[:n]})
				f.got[f.of] += uint64(n)
			}
			b = b[n:]
			continue
		}
		n := copy(f.header[f.have:], b)
		b = b[n:]
		if f.have += n; f.have < len(f.header) {
			break
		}
		f.have = 0
		end, err := f.begin()
		if err != nil {
			return pieces, err
		}
		if end {
			pieces = append(pieces, piece{of: f.of})
		}
	}
	return pieces, nil
}

// begin begins the frame whose header is complete, and reports whether it is the end
// of an output. That may come once more over another connection.
func (f *frames) begin() (end bool, err error) {
	h, err := wire.ParseHeader(f.header[:])
	if err != nil {
		return false, err
	}
	of := int(h.Type) - int(wire.TypeStdout)
	switch {
	case f.past && (h.Type == wire.TypeEffective || h.Type == wire.TypeEnded):
		return false, fmt.Errorf("%w: the node says type %d", wire.ErrFrame, h.Type)
	case h.Type == wire.TypeEffective:
		f.effective = max(f.effective, h.Number)
	case h.Type == wire.TypeStdinTaken:
		f.taken = max(f.taken, h.Number)
	case h.Type == wire.TypeEnded && h.Length > 0:
		f.of, f.left, f.report = ofReport, int(h.Length), slices.Clone(f.header[:])
	case h.Type != wire.TypeStdout && h.Type != wire.TypeStderr || !f.stream[of] || !f.due[of] && h.Length > 0:
		return false, fmt.Errorf("%w: unexpected type %d", wire.ErrFrame, h.Type)
	case h.Length > 0:
		f.of, f.left, f.number = of, int(h.Length), h.Number
	case f.due[of]:
		f.due[of] = false
		f.of, f.number = of, h.Number
		return true, nil
	}
	return false, nil
}

// takeReport takes the next bytes of a frame that says how the process has ended.
func (f *frames) takeReport(b []byte) error {
	f.report = append(f.report, b...)
	if f.left > 0 {
		return nil
	}
	m, _, err := wire.NewReader(bytes.NewReader(f.report)).Read()
	if err != nil {
		return err
	}
	f.report, f.ended = nil, m.(*wire.Ended)
	return nil
}
