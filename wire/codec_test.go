package wire_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"bproc/wire"
	"github.com/vmihailenco/msgpack/v5"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// payloadOf returns the payload of a frame with m.
func payloadOf(t testing.TB, m wire.Message) []byte {
	t.Helper()
	frame, err := wire.Append(nil, 0, m)
	if err != nil {
		t.Fatal(err)
	}
	return frame[wire.HeaderSize:]
}

func TestRoundTrip(t *testing.T) {
	for _, typ := range wire.Types() {
		for name, want := range map[string]wire.Message{"full": sample(typ), "zero": wire.New(typ)} {
			t.Run(fmt.Sprintf("%T %s", want, name), func(t *testing.T) {
				if want.Type() != typ {
					t.Fatalf("the factory of type %d makes a message of type %d", typ, want.Type())
				}
				frame, err := wire.Append(nil, 77, want)
				if err != nil {
					t.Fatal(err)
				}
				got, number, err := wire.NewReader(bytes.NewReader(frame)).Read()
				if err != nil {
					t.Fatal(err)
				}
				if number != 77 || !reflect.DeepEqual(got, want) {
					t.Errorf("got %d %+v, want 77 %+v", number, got, want)
				}
			})
		}
	}
}

// TestGolden pins the encoding of a message of each type.
func TestGolden(t *testing.T) {
	var got strings.Builder
	for _, typ := range wire.Types() {
		m := sample(typ)
		frame, err := wire.Append(nil, 0x1122, m)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&got, "%s %s\n", reflect.TypeOf(m).Elem().Name(), hex.EncodeToString(frame))
	}
	file := filepath.Join("testdata", "frames.golden")
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	gotLines, wantLines := strings.Split(got.String(), "\n"), strings.Split(string(want), "\n")
	if len(gotLines) != len(wantLines) {
		t.Fatalf("got %d lines, want %d", len(gotLines), len(wantLines))
	}
	for i := range gotLines {
		if gotLines[i] != wantLines[i] {
			t.Errorf("got %s\nwant %s", gotLines[i], wantLines[i])
		}
	}
}

func TestPointersAndArbitraryBytes(t *testing.T) {
	mode := uint32(0)
	for name, want := range map[string]wire.Message{
		"nothing set":   &wire.SetNodes{Version: 1, Nodes: []wire.NodeID{wire.FrontEnd}},
		"zero is a set": &wire.SetNodes{Version: 1, Nodes: []wire.NodeID{3}, Mode: &mode},
		"not UTF-8":     &wire.GhostExec{PID: 1, Argv: []string{"\xff\xfe", "", "a\x00b"}},
		"empty slices":  &wire.GhostList{Held: []wire.PID{}, Killed: nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := wire.Decode(wire.Header{Type: want.Type()}, payloadOf(t, want))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// TestDecodeRejects decodes payloads that are valid msgpack but not the message.
func TestDecodeRejects(t *testing.T) {
	for _, tt := range []struct {
		name    string
		typ     wire.Type
		payload []any
	}{
		{"field missing", wire.TypeGhostFork, []any{1}},
		{"no field", wire.TypeGhostFork, []any{}},
		{"nil for a number", wire.TypeGhostFork, []any{1, nil}},
		{"float for a number", wire.TypeGhostFork, []any{1, 2.0}},
		{"string for a number", wire.TypeGhostFork, []any{1, "2"}},
		{"number too large", wire.TypeGhostFork, []any{1, int64(math.MaxInt32) + 1}},
		{"number too small", wire.TypeGhostFork, []any{1, int64(math.MinInt32) - 1}},
		{"negative for unsigned", wire.TypeGhostDone, []any{-1}},
		{"unsigned too large", wire.TypeGhostDone, []any{uint64(1) << 32}},
		{"beyond int64", wire.TypeToken, []any{"t", uint64(math.MaxUint64)}},
		{"map for a struct", wire.TypeProcList, []any{[]any{map[string]int{"PID": 1, "Node": 2}}}},
		{"nil for a struct", wire.TypeProcList, []any{[]any{nil}}},
		{"number for a list", wire.TypeProcList, []any{7}},
		{"plain bytes", wire.TypeStdin, []any{}},
		{"unknown type", 9999, []any{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			payload, err := msgpack.Marshal(tt.payload)
			if err != nil {
				t.Fatal(err)
			}
			m, err := wire.Decode(wire.Header{Type: tt.typ}, payload)
			if !errors.Is(err, wire.ErrFrame) {
				t.Errorf("got %+v, %v, want %v", m, err, wire.ErrFrame)
			}
		})
	}
}

// TestNumbersAtTheirBounds checks that a number at the ends of its range is neither truncated nor
// refused, in whatever width the sender chose.
func TestNumbersAtTheirBounds(t *testing.T) {
	type numbers struct {
		A int64
		B uint64
		C int8
		D uint8
	}
	for _, want := range []numbers{
		{math.MinInt64, math.MaxUint64, math.MinInt8, math.MaxUint8},
		{math.MaxInt64, 1 << 63, math.MaxInt8, 0},
	} {
		payload, err := msgpack.Marshal([]any{want.A, want.B, int64(want.C), uint64(want.D)})
		if err != nil {
			t.Fatal(err)
		}
		var got numbers
		if err := wire.DecodeStruct(payload, &got); err != nil || got != want {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	}
}

// TestVersions checks that a later version may append fields.
func TestVersions(t *testing.T) {
	type first struct {
		A uint32
		B string
	}
	type second struct {
		A uint32
		B string
		C []string `since:"2"`
		D first    `since:"2"`
	}
	for _, tt := range []struct {
		name    string
		payload []any
		got     any
		want    any // nil: an error
	}{
		{"old sender", []any{1, "b"}, &second{}, &second{A: 1, B: "b"}},
		{"in between", []any{1, "b", []any{"c"}}, &second{}, &second{A: 1, B: "b", C: []string{"c"}}},
		{"new sender", []any{1, "b", []any{"c"}, []any{1, "b"}}, &first{}, &first{1, "b"}},
		{"newer still", []any{1, "b", map[string]any{"x": []any{1.5}}, nil}, &first{}, &first{1, "b"}},
		{"too short for any", []any{1}, &second{}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			payload, err := msgpack.Marshal(tt.payload)
			if err != nil {
				t.Fatal(err)
			}
			err = wire.DecodeStruct(payload, tt.got)
			if tt.want == nil {
				if err == nil {
					t.Errorf("got %+v, want an error", tt.got)
				}
				return
			}
			if err != nil || !reflect.DeepEqual(tt.got, tt.want) {
				t.Errorf("got %+v, %v, want %+v", tt.got, err, tt.want)
			}
		})
	}
}
