package client

import (
	"bytes"
	"testing"

	"bproc/wire"
)

// FuzzFrames has a node say anything among the output of a process. It comes to the client in
// the same pieces and with the same error however it is cut on its way, there is never more
// of it than was said, and nothing of an output that is none.
func FuzzFrames(f *testing.F) {
	for _, says := range [][]byte{
		nil, wire.AppendData(nil, wire.TypeStdout, 7, []byte("output")), wire.AppendData(nil, wire.TypeStderr, 0, nil),
		wire.AppendData(nil, wire.TypeStdinTaken, 1<<63, nil), wire.AppendData(nil, wire.TypeStdin, 0, nil),
		{25, 0, 1},
	} {
		twice := append(bytes.Clone(says), wire.AppendData(nil, wire.TypeStdout, 1, []byte("more"))...)
		for outputs := range byte(4) {
			f.Add(says, outputs, byte(1))
			f.Add(twice, outputs, byte(5))
		}
	}
	f.Fuzz(func(t *testing.T, says []byte, outputs, cut byte) {
		stream := [2]bool{outputs&1 != 0, outputs&2 != 0}
		whole := frames{due: stream, stream: stream}
		at := frames{due: stream, stream: stream}
		all, wholeErr := whole.take(nil, says)
		var parts []piece
		var err error
		for rest := says; len(rest) > 0 && err == nil; {
			n := min(int(cut)+1, len(rest))
			parts, err = at.take(parts, rest[:n])
			rest = rest[n:]
		}
		if (err == nil) != (wholeErr == nil) || at.got != whole.got || at.due != whole.due || at.taken != whole.taken {
			t.Errorf("%x: in parts of %d: %+v, %v; as a whole: %+v, %v", says, cut, at, err, whole, wholeErr)
		}
		for of := range 2 {
			got, want := textOf(parts, of), textOf(all, of)
			if !bytes.Equal(got, want) || uint64(len(got)) != whole.got[of] || len(got) > 0 && !stream[of] || len(got) > len(says) {
				t.Errorf("%x: output %d: in parts of %d %q, as a whole %q, counted %d", says, of, cut, got, want, whole.got[of])
			}
		}
	})
}

func textOf(pieces []piece, of int) (text []byte) {
	for _, p := range pieces {
		if p.of == of {
			text = append(text, p.data...)
		}
	}
	return text
}
