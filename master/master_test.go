package master

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
)

// TestSecondMaster starts a master that would share a socket or its state with another.
func TestSecondMaster(t *testing.T) {
	dir := t.TempDir()
	config := func(socket, state string) Config {
		cfg := DefaultConfig()
		cfg.Socket, cfg.State, cfg.Runtime = filepath.Join(dir, socket), filepath.Join(dir, state), dir
		return cfg
	}
	first, err := New(config("socket", "state"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ socket, state, want string }{
		{"socket", "state", "another master serves " + filepath.Join(dir, "socket")},
		{"socket", "other", "another master serves " + filepath.Join(dir, "socket")},
		{"other", "state", "another master has the state in " + filepath.Join(dir, "state")},
	} {
		if _, err := New(config(tt.socket, tt.state), slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s, %s: got %v, want %q", tt.socket, tt.state, err, tt.want)
		}
	}
	if err := first.close(); err != nil {
		t.Fatal(err)
	}
	second, err := New(config("other", "state"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := second.close(); err != nil {
		t.Error(err)
	}
}
