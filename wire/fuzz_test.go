package wire_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"testing"

	"bproc/wire"
)

// hostile are payloads that harm the msgpack decoder if it gets them without validation.
var hostile = [][]byte{
	{0xdd, 0x0f, 0xff, 0xff, 0xff},
	{0x91, 0xdd, 0x0f, 0xff, 0xff, 0xff},
	{0xdf, 0xff, 0xff, 0xff, 0xff},
	bytes.Repeat([]byte{0x91}, 1000),
	append([]byte{0x92, 0x01, 0xdc, 0x03, 0xe8}, make([]byte, 1000)...), // Events: many elements that are not events
}

func FuzzValidate(f *testing.F) {
	for _, typ := range wire.Types() {
		f.Add(payloadOf(f, sample(typ)))
	}
	for _, b := range hostile {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		if n := testing.AllocsPerRun(1, func() { _ = wire.Validate(payload) }); n != 0 {
			t.Errorf("the walk over %d bytes allocates %v times", len(payload), n)
		}
		// A value is still valid as an element, and invalid with a byte after it.
		if wire.Validate(payload) != nil {
			return
		}
		if wire.Validate(append(bytes.Clone(payload), 0)) == nil {
			t.Errorf("%x is valid with a byte after it", payload)
		}
	})
}

func FuzzDecode(f *testing.F) {
	for _, typ := range wire.Types() {
		f.Add(uint16(typ), payloadOf(f, sample(typ)))
		for _, b := range hostile {
			f.Add(uint16(typ), b)
		}
	}
	f.Fuzz(func(t *testing.T, typ uint16, payload []byte) {
		var m wire.Message
		var err error
		bound := 64*uint64(len(payload)) + 1<<20
		if got := allocated(func() { m, err = wire.Decode(wire.Header{Type: wire.Type(typ)}, payload) }); got > bound {
			t.Errorf("%d bytes allocated for a payload of %d", got, len(payload))
		}
		if err != nil {
			if !errors.Is(err, wire.ErrFrame) {
				t.Errorf("got %v, want %v", err, wire.ErrFrame)
			}
			return
		}
		again, err := wire.Decode(wire.Header{Type: wire.Type(typ)}, payloadOf(t, m))
		if err != nil || !reflect.DeepEqual(m, again) {
			t.Errorf("encoded and decoded again: got %+v, %v, want %+v", again, err, m)
		}
	})
}

func FuzzReader(f *testing.F) {
	for _, typ := range wire.Types() {
		frame, err := wire.Append(nil, 1, sample(typ))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(wire.AppendData(frame, wire.TypeStdout, 2, []byte("text")))
	}
	f.Add(header(wire.Header{Type: wire.TypeRun, Length: wire.MaxCommand}))
	f.Fuzz(func(t *testing.T, stream []byte) {
		r := wire.NewReader(bytes.NewReader(stream))
		rest := len(stream)
		for {
			h, payload, err := r.Next()
			if err != nil {
				if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, wire.ErrFrame) {
					t.Errorf("got %v", err)
				}
				return
			}
			rest -= wire.HeaderSize + len(payload)
			if rest < 0 || int(h.Length) != len(payload) {
				t.Fatalf("a payload of %d bytes for %+v, %d bytes of the stream left", len(payload), h, rest)
			}
			if !h.Type.IsData() {
				_, _ = wire.Decode(h, payload)
			}
		}
	})
}
