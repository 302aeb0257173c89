package master

import (
	"strings"
	"testing"

	"bproc/internal/fakegetent"
)

// TestDirectoryOwner has a user and a group of a directory service in the configuration.
func TestDirectoryOwner(t *testing.T) {
	fakegetent.Install(t, fakegetent.Alice)
	c := DefaultConfig()
	if err := c.Read(strings.NewReader("owner alice\ngroup hatters"), "f"); err != nil || c.UID != 4_000_010_001 || c.GID != 4_000_010_002 {
		t.Errorf("got %d, %d, %v", c.UID, c.GID, err)
	}
	fakegetent.Install(t, "exit 1")
	want := "f:1: owner: user alice cannot be looked up: getent: exit status 1"
	if err := c.Read(strings.NewReader("owner alice\ngroup 7"), "f"); err == nil || err.Error() != want || c.GID != 7 {
		t.Errorf("got %v, want %s", err, want)
	}
}
