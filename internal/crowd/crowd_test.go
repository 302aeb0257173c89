package crowd_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"bproc/internal/crowd"
)

func TestCrowd(t *testing.T) {
	for _, tc := range []struct {
		name  string
		comes string // "a" comes from a; "-a0" leaves: the first one from a
		goes  string // those turned away, in order
	}{
		{"room for all", "a b c", ""},
		{"the oldest of one", "a a a a a", "a0 a1"},
		{"not those of another", "b a a a a", "a0 a1"},
		{"the oldest of those with as many", "a b c d", "a0"},
		{"who leaves makes room", "a a -a0 a", ""},
		{"who has left is not counted", "a a -a0 b b b", "b0"},
		{"twice", "a a -a0 -a0 a a a", "a1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := crowd.New[string](3)
			var went []string
			count := map[string]int{}
			leave := map[string]func(){}
			for _, who := range strings.Fields(tc.comes) {
				if name, leaves := strings.CutPrefix(who, "-"); leaves {
					leave[name]()
					continue
				}
				name := fmt.Sprint(who, count[who])
				count[who]++
				leave[name] = c.Enter(who, func() { went = append(went, name) })
			}
			if want := strings.Fields(tc.goes); !slices.Equal(went, want) {
				t.Errorf("%q went, want %q", went, want)
			}
		})
	}
}

// TestWait checks that Enter blocks while too many that were turned away have not left.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := crowd.New[int](2)
		var leave []func()
		for range 4 {
			leave = append(leave, c.Enter(0, func() {}))
		}
		entered := false
		go func() {
			c.Enter(0, func() {})
			entered = true
		}()
		synctest.Wait()
		if entered {
			t.Error("a fifth has entered a crowd of two, of whom two had to go")
		}
		leave[0]()
		leave[0]()
		synctest.Wait()
		if !entered {
			t.Error("who has left still keeps others out")
		}
	})
}
