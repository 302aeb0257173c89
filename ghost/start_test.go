package ghost

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/internal/peer"
)

// keeperOf returns the process number of the keeper at the other end of a connection.
func keeperOf(t *testing.T, c *Client) int {
	t.Helper()
	who, err := peer.Of(c.conn)
	if err != nil {
		t.Fatal(err)
	}
	return int(who.Pid)
}

func TestStart(t *testing.T) {
	for _, c := range []struct {
		name  string
		scope []string
	}{
		{"no scope", nil},
		{"scope", []string{"env", "IN_SCOPE=1"}},
		{"scope that fails", []string{"false"}},
		{"scope that is not there", []string{"/no/such/program"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cfg := StartConfig{
				Program: self, Image: imageOf(t), Socket: filepath.Join(dir, "sock"),
				Log: filepath.Join(dir, "log"), Scope: c.scope,
			}
			t.Setenv("GHOST_TEST_KEEPER", cfg.Socket)
			t.Setenv("GHOST_TEST_IMAGE", cfg.Image)
			first, err := Start(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			keeper := keeperOf(t, first)
			first.Close()
			env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(keeper), "environ"))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(string(env), "IN_SCOPE=1"); got != (c.name == "scope") {
				t.Errorf("started in the scope: %v", got)
			}
			next, err := Start(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			if got := keeperOf(t, next); got != keeper {
				t.Errorf("keeper %d, want %d as before", got, keeper)
			}
			next.Close()
			if err := unix.Kill(keeper, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			// At once: its socket and its lock may still exist.
			again, err := Start(context.Background(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			if err := unix.Kill(keeperOf(t, again), unix.SIGTERM); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTwoKeepers starts a second keeper on a socket in use.
func TestTwoKeepers(t *testing.T) {
	f := newFixture(t)
	second := exec.CommandContext(t.Context(), "/proc/self/exe")
	second.Env = f.keeper.Env
	out, err := second.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "another keeper serves") {
		t.Errorf("the second keeper: %v, %q", err, out)
	}
	f.end(t, f.ghost(t, nobody, "g"), 0) // the first keeper still works
}

// TestStartKilled checks that Start reports that the new keeper was killed.
func TestStartKilled(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "keeper")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nkill -9 $$\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), StartConfig{Program: program, Socket: filepath.Join(dir, "sock"), Log: filepath.Join(dir, "log")})
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != unix.SIGKILL {
		t.Errorf("got %v", err)
	}
}
