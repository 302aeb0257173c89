package master

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
)

// TestSecondMaster starts a master that would share a socket, its state or the keeper with another.
func TestSecondMaster(t *testing.T) {
	dir := t.TempDir()
	config := func(socket, state, runtime string) Config {
		cfg := DefaultConfig()
		cfg.Socket, cfg.State, cfg.Runtime = filepath.Join(dir, socket), filepath.Join(dir, state), filepath.Join(dir, runtime)
		return cfg
	}
	first, err := New(config("socket", "state", "runtime"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ socket, state, runtime, want string }{
		{"socket", "state", "runtime", "another master serves " + filepath.Join(dir, "socket")},
		{"socket", "other", "other", "another master serves " + filepath.Join(dir, "socket")},
		{"other", "state", "other", "another master has the state in " + filepath.Join(dir, "state")},
		{"other", "other", "runtime", "another master runs on this machine already: it has the keeper in " + filepath.Join(dir, "runtime")},
	} {
		if _, err := New(config(tt.socket, tt.state, tt.runtime), slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s, %s, %s: got %v, want %q", tt.socket, tt.state, tt.runtime, err, tt.want)
		}
	}
	if err := first.close(); err != nil {
		t.Fatal(err)
	}
	second, err := New(config("other", "state", "runtime"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := second.close(); err != nil {
		t.Error(err)
	}
}
