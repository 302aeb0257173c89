package sparselog_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bproc/internal/sparselog"
)

func TestSparseLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		log := slog.New(sparselog.New(slog.NewTextHandler(&b, nil)))
		check := func(when, text string, want int) {
			t.Helper()
			if got := strings.Count(b.String(), text); got != want {
				t.Errorf("%s: %q is there %d times, want %d", when, text, got, want)
			}
		}
		for i := range 1000 {
			log.With("i", fmt.Sprint(i)).Warn("again")
			log.WithGroup("g").Error("and again")
			log.Info("as usual")
			time.Sleep(time.Millisecond)
		}
		log.Warn("another")
		check("in a second", "msg=again ", 20)
		check("in a second", `msg="and again"`, 20)
		check("in a second", `msg="as usual"`, 1000)
		check("in a second", "msg=another", 1)
		check("in a second", "withheld", 0)
		time.Sleep(time.Minute)
		log.Warn("again", "i", "late")
		log.Warn("again", "i", "later")
		check("a minute later", "i=late withheld=980\n", 1)
		check("a minute later", "withheld", 1)
		check("a minute later", "msg=again ", 22)
	})
}
