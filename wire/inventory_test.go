package wire_test

import (
	"errors"
	"strings"
	"testing"

	"bproc/wire"
)

// TestInventoryCheck has a node tell versions of its kernel: every list of nodes has them.
func TestInventoryCheck(t *testing.T) {
	for kernel, want := range map[string]error{
		"": nil, "6.1.0-57-amd64": nil,
		"6.1\x1b[2J":               wire.ErrFrame,
		strings.Repeat("6", 4<<20): wire.ErrFrame,
	} {
		if err := (&wire.Inventory{Kernel: kernel}).Check(); !errors.Is(err, want) {
			t.Errorf("%.20q: got %v, want %v", kernel, err, want)
		}
	}
}
