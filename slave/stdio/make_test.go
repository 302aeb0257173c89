package stdio

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// TestMakeFails: nothing is kept of a process whose descriptors cannot all be kept.
func TestMakeFails(t *testing.T) {
	s := ways(t)
	kept := map[string]bool{}
	s.Keep = func(name string, _ ...*os.File) error {
		if strings.HasPrefix(name, "in ") {
			return unix.EMFILE
		}
		kept[name] = true
		return nil
	}
	s.Drop = func(name string) { delete(kept, name) }
	spawn := streams([3]wire.DescriptorMode{wire.DescriptorStream, wire.DescriptorStream, wire.DescriptorStream})
	if _, err := s.Make(spawn); !errors.Is(err, unix.EMFILE) {
		t.Errorf("got %v, want %v", err, unix.EMFILE)
	}
	if len(kept) > 0 {
		t.Errorf("%v is still kept", slices.Collect(maps.Keys(kept)))
	}
}
