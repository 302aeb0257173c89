package slave

import (
	"context"
	"errors"
	"log/slog"
	"slices"
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
		var told []time.Duration // when init is to kill, from when it is told
		end := func(at time.Time) error { told = append(told, time.Until(at)); return nil }
		l := &lease{end: end, log: slog.New(slog.DiscardHandler), kill: func(context.Context) error {
			kills = append(kills, time.Since(begun))
			return errors.New("cannot")
		}}
		ended := make(chan error, 1)
		go func() { ended <- l.run(ctx) }()
		check := func(when string, tells int, want ...time.Duration) {
			t.Helper()
			synctest.Wait()
			ok := len(kills) == len(want)
			for i := range min(len(kills), len(want)) {
				ok = ok && kills[i] >= want[i] && kills[i] <= want[i]+term/leaseLooks
			}
			if !ok {
				t.Errorf("%s: killed at %v, want %v", when, kills, want)
			}
			if len(told) != tells || slices.ContainsFunc(told, func(d time.Duration) bool { return d <= 0 }) {
				t.Errorf("%s: init was told %v, want %d deadlines", when, told, tells)
			}
			kills, told, begun = nil, nil, time.Now()
		}
		time.Sleep(10 * term)
		check("before the first link", 0)
		l.renew(&madeUpLink{time.Now(), term})
		time.Sleep(term - time.Second)
		check("in its time", 1)
		l.renew(&madeUpLink{time.Now(), term})
		time.Sleep(10 * term)
		check("once", 1, term)
		next := &madeUpLink{time.Now(), term / 10}
		l.renew(next)
		time.Sleep(term)
		check("the next link", 1, term/10)
		l.mu.Lock()
		next.at = time.Now() // it was only cut
		l.mu.Unlock()
		time.Sleep(term)
		check("the same link", 1, term/10)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
