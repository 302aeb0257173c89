package slave

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestInitWatch has init answer, not answer while the space is held, and hang.
func TestInitWatch(t *testing.T) {
	gone := errors.New("gone")
	const answers = 9
	for _, tc := range []struct {
		name  string
		end   error         // of init; nil: it hangs
		held  time.Duration // time for which the space is held
		want  error
		after time.Duration
	}{
		{"it hangs", nil, 0, errInitHangs, answers*initLooks + initPatience},
		{"it hangs when it is let go", nil, 100 * time.Second, errInitHangs, 100 * time.Second},
		{"it ends", gone, 0, nil, answers * initLooks},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				asked := 0
				w := initWatch{
					ask: func(ctx context.Context) error {
						asked++
						if asked <= answers {
							return nil
						}
						if tc.end != nil {
							return tc.end
						}
						<-ctx.Done()
						return context.Cause(ctx)
					},
					held: func() uint64 {
						if time.Since(begin) < tc.held {
							return 1
						}
						return 2
					},
				}
				err := w.run(t.Context())
				took := time.Since(begin)
				if !errors.Is(err, tc.want) || took < tc.after || took > tc.after+2*initPatience+initLooks {
					t.Errorf("got %v after %v, want %v after %v", err, took, tc.want, tc.after)
				}
			})
		})
	}
}
