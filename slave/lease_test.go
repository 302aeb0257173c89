package slave

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// madeUpLink is a link that was heard from at one moment.
type madeUpLink struct {
	at    time.Time
	lease time.Duration
}

func (l *madeUpLink) LastHeard() time.Time { return l.at }
func (l *madeUpLink) Lease() time.Duration { return l.lease }

// TestLease has leases run out without a link, which is the time of dialing.
func TestLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const term = 30 * time.Second
		ctx, stop := context.WithCancel(t.Context())
		begun := time.Now()
		var kills []time.Duration
		l := &lease{log: slog.New(slog.DiscardHandler), kill: func() error {
			kills = append(kills, time.Since(begun))
			return errors.New("cannot")
		}}
		ended := make(chan error, 1)
		go func() { ended <- l.run(ctx) }()
		check := func(when string, want ...time.Duration) {
			t.Helper()
			synctest.Wait()
			ok := len(kills) == len(want)
			for i := range min(len(kills), len(want)) {
				ok = ok && kills[i] >= want[i] && kills[i] <= want[i]+term/leaseLooks
			}
			if !ok {
				t.Errorf("%s: killed at %v, want %v", when, kills, want)
			}
			kills, begun = nil, time.Now()
		}
		time.Sleep(10 * term)
		check("before the first link")
		l.renew(&madeUpLink{time.Now(), term})
		time.Sleep(term - time.Second)
		check("in its time")
		l.renew(&madeUpLink{time.Now(), term})
		time.Sleep(10 * term)
		check("once", term)
		next := &madeUpLink{time.Now(), term / 10}
		l.renew(next)
		time.Sleep(term)
		check("the next link", term/10)
		l.mu.Lock()
		next.at = time.Now() // it was only cut
		l.mu.Unlock()
		time.Sleep(term)
		check("the same link", term/10)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
