package terminal_test

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/cmd/internal/terminal"
	"bproc/internal/client"
)

func TestMain(m *testing.M) {
	if terminal.Guard() {
		return
	}
	m.Run()
}

// TestRawAfterClose has a key, or SIGCONT, come when the session has ended.
func TestRawAfterClose(t *testing.T) {
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	echoes := func() bool {
		modes, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		return modes.Lflag&unix.ECHO != 0
	}
	term := terminal.Of(client.NewFile(f))
	if err := term.Raw(); err != nil {
		t.Fatal(err)
	}
	if echoes() {
		t.Error("it is not raw")
	}
	term.Close()
	if !echoes() {
		t.Error("the settings are not restored")
	}
	if err := term.Raw(); err != nil || !echoes() {
		t.Errorf("it is raw after the end, or %v", err)
	}
}
