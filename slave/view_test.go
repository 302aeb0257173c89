package slave

import (
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
)

// TestViewHangs: a process that needs the view is refused in time if nobody takes its request.
func TestViewHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newView(Config{}, 1, slog.New(slog.DiscardHandler))
		if err := v.need(); !errors.Is(err, errNoView) {
			t.Errorf("got %v, want %v", err, errNoView)
		}
	})
}
