package wire_test

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"bproc/wire"
)

func TestValidate(t *testing.T) {
	for _, tt := range []struct {
		name, hex, want string // want: part of the error, empty for none
	}{
		{"small integers", "93007fff", ""},
		{"nil and booleans", "93c0c2c3", ""},
		{"integers", "98cc01cd0102ce01020304cf0102030405060708d001d10102d201020304d30102030405060708", ""},
		{"floats", "92ca01020304cb0102030405060708", ""},
		{"strings", "94a0a161d90162da000163", ""},
		{"string of 32 bits", "db0000000161", ""},
		{"bytes", "93c40101c5000101c60000000101", ""},
		{"arrays", "9390dc0000dd0000000100", ""},
		{"maps", "9380de0000df000000010102", ""},
		{"nothing", "", "beyond"},
		{"integer cut", "cd01", "beyond"},
		{"string cut", "a361", "beyond"},
		{"length cut", "da00", "beyond"},
		{"count cut", "dd000000", "beyond"},
		{"string beyond", "d9ff61", "beyond"},
		{"bytes beyond", "c6ffffffff", "beyond"},
		{"string longer than any int32", "dbffffffff61", "beyond"},
		{"array beyond", "dd0fffffff", "beyond"},
		{"array of the most elements", "ddffffffff00", "beyond"},
		{"map beyond", "dfffffffff00", "beyond"},
		{"map with a key only", "8101", "beyond"},
		{"one element short", "9201", "beyond"},
		{"inner array takes the outer's elements", "92920102", "beyond"},
		{"one byte more", "9000", "after"},
		{"two values", "0101", "after"},
		{"code that is never used", "91c1", "code"},
		{"ext 8", "91c7010100", "code"},
		{"ext 32", "91c9000000010100", "code"},
		{"fixext 1 (timestamps use these)", "91d40100", "code"},
		{"fixext 16", "91d8" + strings.Repeat("00", 17), "code"},
		{"as deep as allowed", strings.Repeat("91", 32) + "00", ""},
		{"too deep", strings.Repeat("91", 33) + "00", "deep"},
		{"too deep by maps", strings.Repeat("8100", 33) + "00", "deep"},
		{"empty array at the depth allowed", strings.Repeat("91", 32) + "90", ""},
		{"far too deep", strings.Repeat("91", 1<<16), "deep"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			payload, err := hex.DecodeString(tt.hex)
			if err != nil {
				t.Fatal(err)
			}
			err = wire.Validate(payload)
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("got %v, want no error", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestValidateCuts checks that no message is valid without its last bytes.
func TestValidateCuts(t *testing.T) {
	for _, typ := range wire.Types() {
		payload := payloadOf(t, sample(typ))
		if err := wire.Validate(payload); err != nil {
			t.Errorf("type %d: %v", typ, err)
		}
		for n := range payload {
			if wire.Validate(payload[:n]) == nil {
				t.Errorf("type %d is valid when cut to %d of %d bytes", typ, n, len(payload))
			}
		}
	}
}

func BenchmarkDecodeEvents(b *testing.B) {
	events := make([]wire.Event, 100)
	for i := range events {
		events[i] = wire.Event{Kind: wire.EventForked, PID: 1<<20 + wire.PID(i), Parent: 1 << 20, PGID: 1 << 20, SID: 1 << 20}
	}
	payload := bytes.Clone(payloadOf(b, &wire.Events{First: 1 << 30, Events: events}))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := wire.Decode(wire.Header{Type: wire.TypeEvents}, payload); err != nil {
			b.Fatal(err)
		}
	}
}
