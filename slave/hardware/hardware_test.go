package hardware

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bproc/test/limit"
	"bproc/wire"
)

func TestMain(m *testing.M) {
	Reexec()
	limit.Tests(m)
}

// TestRead: this machine has some hardware, and its description passes the master's check.
func TestRead(t *testing.T) {
	h, err := NewReader().Read(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	if h.Arch == "" || h.Kernel == "" || len(h.BootID) != 36 || h.CPUs == 0 || h.Sockets == 0 || h.Memory == 0 || h.Usable == 0 || h.Usable > h.Memory {
		t.Errorf("got %+v", h)
	}
	if err := h.Check(); err != nil {
		t.Error(err)
	}
}

// TestPartFails: a part that fails, or panics, is named, and the others are read.
func TestPartFails(t *testing.T) {
	for _, fail := range []func(*wire.Hardware) error{
		func(*wire.Hardware) error { return errors.New("oh no") },
		func(*wire.Hardware) error { panic("oh no") },
	} {
		if err := part(new(wire.Hardware), fail); err == nil || !strings.Contains(err.Error(), "oh no") {
			t.Errorf("got %v", err)
		}
	}
	was := parts[0]
	defer func() { parts[0] = was }()
	parts[0].read = func(*wire.Hardware) error { panic("oh no") }
	h := read()
	if len(h.Failed) == 0 || h.Failed[0] != "system: oh no" || h.CPUs == 0 {
		t.Errorf("got %+v", h)
	}
}

// TestKept: the last reading is returned again, unless a fresh one is requested.
func TestKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, reads := NewReader(), 0
		r.read = func(context.Context) (*wire.Hardware, error) {
			if reads++; reads == 3 {
				return nil, io.ErrUnexpectedEOF
			}
			return &wire.Hardware{Cores: uint32(reads)}, nil
		}
		for _, tt := range []struct {
			fresh bool
			after time.Duration
			want  uint32 // 0: an error
		}{
			{false, 0, 1},
			{false, time.Hour, 1},
			{true, 0, 2},
			{true, time.Second, 2},
			{true, time.Minute, 0},
			{false, 0, 2},
			{true, 0, 4},
		} {
			time.Sleep(tt.after)
			h, err := r.Read(t.Context(), tt.fresh)
			if (err != nil) != (tt.want == 0) || err == nil && h.Cores != tt.want {
				t.Errorf("fresh %v: got %v, %v, want %d", tt.fresh, h, err, tt.want)
			}
		}
	})
}

// TestHangs: a caller waits for a child that does not end only as long as its context allows.
func TestHangs(t *testing.T) {
	r := NewReader()
	hangs := make(chan struct{})
	r.read = func(ctx context.Context) (*wire.Hardware, error) {
		close(hangs)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error)
	go func() { _, err := r.Read(ctx, false); first <- err }()
	<-hangs
	late, end := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer end()
	if _, err := r.Read(late, false); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestStuck: nobody waits for a child that does not even end when it is killed.
func TestStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, stuck := NewReader(), make(chan struct{})
		r.read = func(context.Context) (*wire.Hardware, error) { <-stuck; return nil, io.ErrUnexpectedEOF }
		for range 2 {
			if _, err := r.Read(t.Context(), true); !errors.Is(err, errSlow) {
				t.Errorf("got %v, want %v", err, errSlow)
			}
		}
		close(stuck)
		synctest.Wait()
		r.read = func(context.Context) (*wire.Hardware, error) { return &wire.Hardware{Cores: 1}, nil }
		if h, err := r.Read(t.Context(), true); err != nil || h.Cores != 1 {
			t.Errorf("got %v, %v", h, err)
		}
	})
}

func TestRelease(t *testing.T) {
	file := t.TempDir() + "/os-release"
	if err := os.WriteFile(file, []byte("ID=x\nPRETTY_NAME=\"Some Linux 7\"\nB=1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := release(file); got != "Some Linux 7" {
		t.Errorf("got %q", got)
	}
	if got := release(file + "x"); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestSpeed(t *testing.T) {
	for s, want := range map[string]uint32{"1000Mb/s": 1000, "25000": 25000, "-1": 0, "": 0, "Unknown!": 0, "99999999999": 0} {
		if got := speed(s); got != want {
			t.Errorf("%q: got %d, want %d", s, got, want)
		}
	}
}
