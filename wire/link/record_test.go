package link

import (
	"strings"
	"testing"
)

func TestParseRecord(t *testing.T) {
	for _, tt := range []struct {
		name   string
		kind   kind
		length int
		ok     bool
	}{
		{"data", kindData, 1, true},
		{"data at its bound", kindData, maxData, true},
		{"data above", kindData, maxData + 1, false},
		{"no data", kindData, 0, false},
		{"acknowledgement", kindAck, ackSize, true},
		{"acknowledgement of another size", kindAck, ackSize + 1, false},
		{"farewell", kindClose, maxReason, true},
		{"farewell without a reason", kindClose, 0, true},
		{"long farewell", kindClose, maxReason + 1, false},
		{"longest that can be written", kindData, 1<<24 - 1, false},
		{"kind 0", 0, 0, false},
		{"unknown kind", 4, 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b [recordHeader]byte
			putRecord(b[:], tt.kind, tt.length)
			kind, length, err := parseRecord(b)
			if (err == nil) != tt.ok {
				t.Fatalf("got %v, want ok %v", err, tt.ok)
			}
			if tt.ok && (kind != tt.kind || length != tt.length) {
				t.Errorf("got kind %d with %d bytes", kind, length)
			}
		})
	}
}

func TestLongReasonIsCut(t *testing.T) {
	b := appendClose(nil, strings.Repeat("x", 1<<20))
	kind, length, err := parseRecord([recordHeader]byte(b))
	if kind != kindClose || length != len(b)-recordHeader || err != nil {
		t.Errorf("got kind %d with %d of %d bytes, %v", kind, length, len(b), err)
	}
}
