package crowd_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bproc/internal/crowd"
)

// TestLine lets connections enter a line with three served, four waiting and a patience of one
// second.
func TestLine(t *testing.T) {
	for _, tc := range []struct {
		name  string
		comes string // "a" comes from a; "-a0" leaves: the first one from a; "1s": time passes
		says  string // "+a0" is served, "-a0" is turned away
	}{
		{"room for all", "a b c", "+a0 +b0 +c0"},
		{"others wait", "a a a a a -a0 -a1", "+a0 +a1 +a2 +a3 +a4"},
		{"in a storm nobody is turned away", "a b c d e f -a0 -b0 -c0", "+a0 +b0 +c0 +d0 +e0 +f0"},
		{"one peer keeps nobody else out", "a a a a a b", "+a0 +a1 +a2 -a0 +b0"},
		{"nor does one that waits longest", "a a b a a a -b0 b", "+a0 +a1 +b0 +a2 -a0 +b1"},
		{"each place in turn", "a b c a a b b -c0 -b0 -a0", "+a0 +b0 +c0 +a1 +b1 +a2"},
		{"patience ends", "a a a a 1s", "+a0 +a1 +a2 -a0 +a3"},
		{"but not where nobody waits", "a a a 1s", "+a0 +a1 +a2"},
		{"too many wait", "a a a a a a a a", "+a0 +a1 +a2 -a7"},
		{"not those of another", "a a a a a a b a c a", "+a0 +a1 +a2 -a0 +b0 -a1 +c0 -a7"},
		{"who leaves twice", "a a a a a -a0 -a0", "+a0 +a1 +a2 +a3"},
		{"those who do not go keep others out", "a b c d e f g 1s 1s", "+a0 +b0 +c0 -a0 +d0 -b0 +e0 -c0 +f0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := crowd.NewLine[string](3, 4, time.Second)
				var said []string
				count := map[string]int{}
				leave := map[string]func(){}
				for _, who := range strings.Fields(tc.comes) {
					if name, leaves := strings.CutPrefix(who, "-"); leaves {
						leave[name]()
						continue
					}
					if d, err := time.ParseDuration(who); err == nil {
						time.Sleep(d)
						synctest.Wait()
						continue
					}
					name := fmt.Sprint(who, count[who])
					count[who]++
					l.Enter(who, func(left func()) {
						said = append(said, "+"+name)
						leave[name] = left
					}, func() { said = append(said, "-"+name) })
				}
				if want := strings.Fields(tc.says); !slices.Equal(said, want) {
					t.Errorf("got %q, want %q", said, want)
				}
			})
		})
	}
}

// TestLineCloses checks that Close turns away waiting and new connections.
func TestLineCloses(t *testing.T) {
	l := crowd.NewLine[int](1, 4, time.Hour)
	served, turned := 0, 0
	enter := func() (leave func()) {
		l.Enter(0, func(left func()) { served++; leave = left }, func() { turned++ })
		return leave
	}
	leave := enter()
	enter()
	enter()
	l.Close()
	enter()
	leave()
	if served != 1 || turned != 3 {
		t.Errorf("%d are served and %d turned away, want 1 and 3", served, turned)
	}
}
