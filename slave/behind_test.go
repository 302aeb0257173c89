package slave

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"bproc/slave/procevents"
)

func TestBehindHold(t *testing.T) {
	b := newBehind(slog.New(slog.DiscardHandler), nil, nil)
	for _, c := range []struct {
		by   uint64
		want time.Duration
	}{
		{0, procevents.DefaultHold},
		{1024, procevents.DefaultHold},
		{1024 + (maxBehind/2-1024)/2, 101 * time.Millisecond},
		{maxBehind / 2, 200 * time.Millisecond},
		{maxBehind, 200 * time.Millisecond},
	} {
		b.progress(17)
		b.told(17 + c.by)
		if got := b.hold(); got != c.want {
			t.Errorf("behind by %d: births are held back for %v, want %v", c.by, got, c.want)
		}
	}
	if b.begin(); b.hold() != procevents.DefaultHold {
		t.Errorf("in a new session: births are held back for %v, want %v", b.hold(), procevents.DefaultHold)
	}
}

// TestBehind has the front end fall behind and catch up.
func TestBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var did []string
		say := func(what string, err error) func() error {
			return func() error { did = append(did, what); return err }
		}
		b := newBehind(slog.New(slog.DiscardHandler), say("freeze", nil), say("thaw", errors.New("cannot")))
		ended := make(chan error, 1)
		go func() { ended <- b.run(ctx) }()
		check := func(when string, want ...string) {
			t.Helper()
			synctest.Wait()
			if fmt.Sprint(did) != fmt.Sprint(want) {
				t.Errorf("%s: did %v, want %v", when, did, want)
			}
			did = nil
		}
		b.progress(1)
		b.told(1 + maxBehind)
		check("at the bound")
		b.told(2 + maxBehind)
		b.told(3 + maxBehind)
		check("beyond it", "freeze")
		b.progress(2 + maxBehind/2)
		check("more than half are left")
		b.progress(3 + maxBehind/2)
		check("half of it", "thaw")
		b.told(3 * maxBehind)
		check("again", "freeze")
		if err := b.killing(say("kill", nil)); err != nil {
			t.Error(err)
		}
		b.told(4 * maxBehind)
		check("all are killed", "thaw", "kill")
		b.progress(4 * maxBehind)
		check("caught up")
		b.told(6 * maxBehind)
		check("with other processes", "freeze")
		b.begin()
		check("a new session", "thaw")
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
