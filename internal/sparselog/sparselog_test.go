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

// TestNodes lets one node cause the same records again and again: records about others must be
// written.
func TestNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		log := slog.New(sparselog.New(slog.NewTextHandler(&b, nil)))
		check := func(text string, want int) {
			t.Helper()
			if got := strings.Count(b.String(), text); got != want {
				t.Errorf("%q is there %d times, want %d", text, got, want)
			}
		}
		for i := range 1000 {
			log.Warn("lies", "node", 1, "pid", i)
			log.With("node", 2).Error("lies", "pid", i)
			log.Info("comes", "node", 1)
			log.Debug("says", "node", 1)
		}
		log.Warn("lies", "node", 3, "pid", 0)
		log.Info("comes", "node", 3)
		check("msg=lies node=1", 5)
		check("msg=lies node=2", 5)
		check("msg=lies node=3", 1)
		check("msg=comes node=1", 20)
		check("msg=comes node=3", 1)
		time.Sleep(time.Minute)
		log.Warn("lies", "node", 1, "pid", 0)
		log.Info("comes", "node", 1)
		check("msg=lies node=1 pid=0 withheld=995\n", 1)
		check("msg=comes node=1 withheld=980\n", 1)
	})
}

// TestManyTexts lets more nodes come and go than are remembered.
func TestManyTexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		log := slog.New(sparselog.New(slog.NewTextHandler(&b, nil)))
		for round := range 3 {
			b.Reset()
			for i := range 5000 {
				log.Warn("lies", "node", i)
			}
			if got := strings.Count(b.String(), "lies"); got != 5000 {
				t.Errorf("round %d: %d lines", round, got)
			}
			time.Sleep(time.Minute)
		}
	})
}

// TestKeys lets one that is not known as a node yet cause the same records again and again.
func TestKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		log := slog.New(sparselog.New(slog.NewTextHandler(&b, nil)))
		for range 1000 {
			log.With("key", "a").Info("link is not known")
		}
		log.With("key", "b").Info("link is not known")
		if n := strings.Count(b.String(), "key=a"); n != 20 {
			t.Errorf("%d records of one key, want 20", n)
		}
		if n := strings.Count(b.String(), "key=b"); n != 1 {
			t.Errorf("%d records of another key, want 1", n)
		}
	})
}
