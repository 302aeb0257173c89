package pid1

import (
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bproc/pidmap"
)

// TestSeenBeforeItHasANumber looks at processes while stand-ins with their numbers are being born.
func TestSeenBeforeItHasANumber(t *testing.T) {
	for name, tc := range map[string]struct {
		then func(*standins, *sleeper) // the birth goes on; nil: it does not
		want bool
	}{
		"the stand-in":    {func(_ *standins, s *sleeper) { atomic.StoreUint32(&s.tid, uint32(s.number)) }, true},
		"another process": {func(of *standins, s *sleeper) { of.ended(s) }, false},
		"another process, and a maker that is frozen": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				of := &standins{}
				of.init(slog.New(slog.DiscardHandler), 1, func() {}, func() {})
				s := of.newSleeper(pidmap.Node - 1)
				if of.has(pidmap.Node-1) || !of.register(s) {
					t.Fatal("there is one already")
				}
				if tc.then != nil {
					go func() {
						time.Sleep(birthTime / 2)
						tc.then(of, s)
					}()
				}
				if got := of.has(pidmap.Node - 1); got != tc.want {
					t.Errorf("got %v, want %v", got, tc.want)
				}
			})
		})
	}
}
