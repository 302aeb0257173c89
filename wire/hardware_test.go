package wire_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"bproc/wire"
)

func TestHardwareCheck(t *testing.T) {
	for _, tt := range []struct {
		name string
		h    wire.Hardware
		ok   bool
	}{
		{"nothing", wire.Hardware{}, true},
		{"a machine", wire.Hardware{Model: "Größe 7", GPUs: []wire.GPU{{Address: "0000:01:00.0"}}, Interfaces: []wire.Interface{{Name: "eth0", Addrs: []string{"10.0.0.1"}}}}, true},
		{"a long text", wire.Hardware{CPU: strings.Repeat("x", 129)}, false},
		{"an escape", wire.Hardware{Disks: []wire.Disk{{Model: "\x1b[2J"}}}, false},
		{"a new line", wire.Hardware{Failed: []string{"a\nb"}}, false},
		{"bytes that are no text", wire.Hardware{Kernel: "\xff"}, false},
		{"too many disks", wire.Hardware{Disks: make([]wire.Disk, 65)}, false},
		{"too many addresses", wire.Hardware{Interfaces: []wire.Interface{{Addrs: make([]string, 9)}}}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.h.Check(); (err == nil) != tt.ok || err != nil && !errors.Is(err, wire.ErrFrame) {
				t.Errorf("got %v", err)
			}
			tt.h.Trim()
			if err := tt.h.Check(); err != nil {
				t.Errorf("trimmed: %v", err)
			}
		})
	}
}

func FuzzHardwareTrim(f *testing.F) {
	f.Add("eth0", 3)
	f.Add("\xff\u202e\x00"+strings.Repeat("ä", 100), 100)
	f.Fuzz(func(t *testing.T, text string, count int) {
		n := max(count%200, 0)
		h := wire.Hardware{
			Maker: text, Interfaces: slices.Repeat([]wire.Interface{{Name: text, Addrs: slices.Repeat([]string{text}, n)}}, n),
			Disks: slices.Repeat([]wire.Disk{{Model: text}}, n), GPUs: slices.Repeat([]wire.GPU{{Model: text}}, n), Failed: slices.Repeat([]string{text}, n),
		}
		h.Trim()
		if err := h.Check(); err != nil {
			t.Error(err)
		}
		if _, err := wire.Append(nil, 0, &h); err != nil {
			t.Error(err)
		}
	})
}
