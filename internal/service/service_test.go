package service_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/service"
)

// manager is the socket of a service manager.
type manager struct {
	*testing.T
	fd int
}

func newManager(t *testing.T) *manager {
	path := filepath.Join(t.TempDir(), "s")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	t.Setenv("NOTIFY_SOCKET", path)
	return &manager{t, fd}
}

// told returns the messages since the last call.
func (m *manager) told() (words []string) {
	b := make([]byte, 100)
	for {
		n, _, err := unix.Recvfrom(m.fd, b, unix.MSG_DONTWAIT)
		if err == unix.EAGAIN {
			return words
		}
		if err != nil {
			m.Fatal(err)
		}
		words = append(words, string(b[:n]))
	}
}

func TestReadyAndStopping(t *testing.T) {
	m := newManager(t)
	service.Ready()
	service.Stopping()
	if got, want := m.told(), []string{"READY=1", "STOPPING=1"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestWatch has a daemon that lives, hangs, and lives again.
func TestWatch(t *testing.T) {
	m := newManager(t)
	const patience = 30 * time.Second
	t.Setenv("WATCHDOG_USEC", fmt.Sprint(patience.Microseconds()))
	t.Setenv("WATCHDOG_PID", fmt.Sprint(os.Getpid()))
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		turn := make(chan struct{}, 1)
		ended := make(chan error, 1)
		go func() { ended <- service.Watch(ctx, func() { turn <- struct{}{}; <-turn }) }()
		pass := func(fed bool) {
			t.Helper()
			for range 3 {
				time.Sleep(patience)
				synctest.Wait()
				if got := m.told(); len(got) > 0 != fed || fed && got[0] != "WATCHDOG=1" {
					t.Errorf("got %q, want that the watchdog is fed: %v", got, fed)
				}
			}
		}
		pass(true)
		turn <- struct{}{} // the next call of alive has to wait
		pass(false)
		<-turn
		pass(true)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestNobodyWatches(t *testing.T) {
	m := newManager(t)
	for _, env := range []struct {
		usec, pid string
		bad       bool
	}{
		{"", "", false},
		{"1000000", "1", false}, // the watchdog is for another process
		{"soon", "", true},
		{"-1", "", true},
	} {
		t.Setenv("WATCHDOG_USEC", env.usec)
		t.Setenv("WATCHDOG_PID", env.pid)
		err := service.Watch(t.Context(), func() { t.Error("somebody asks") })
		if (err != nil) != env.bad || len(m.told()) > 0 {
			t.Errorf("%+v: got %v", env, err)
		}
	}
}
