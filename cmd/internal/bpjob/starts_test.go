package bpjob

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bproc/internal/job/life"
	"bproc/internal/job/place"
)

// TestStarts has starts that take some time: those of "slow" a day, all others a second.
func TestStarts(t *testing.T) {
	process := func(name string) place.Process {
		return place.Process{Job: place.Job{Name: name}, Process: name}
	}
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var began []string
		s := newStarts(func(_ context.Context, p place.Process, _ uint32, _ time.Time) bool {
			mu.Lock()
			began = append(began, p.Name)
			mu.Unlock()
			if p.Name == "slow" {
				time.Sleep(24 * time.Hour)
			}
			time.Sleep(time.Second)
			return p.Name != "bad"
		})
		now := func() []string {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			all := began
			began = nil
			slices.Sort(all)
			return all
		}
		check := func(what, want string) {
			t.Helper()
			if got := fmt.Sprint(now()); got != want {
				t.Errorf("%s: got %s, want %s", what, got, want)
			}
		}
		const alice, bob = 1, 2
		s.begin(t.Context(), process("slow"), alice)
		s.begin(t.Context(), process("web"), alice)
		check("beside one that hangs", "[slow web]")
		time.Sleep(time.Minute)
		if s.underWay(process("web"), true) || !s.underWay(process("slow"), true) {
			t.Error("the one that hangs must be under way, and the other not")
		}

		s.begin(t.Context(), process("bad"), alice)
		s.underWay(process("bad"), true)
		check("the first try", "[bad]")
		time.Sleep(time.Second)
		check("asked for again meanwhile", "[bad]")
		time.Sleep(time.Minute)
		check("not asked for", "[]")

		for i := range startsAtOnce {
			s.begin(t.Context(), place.Process{Job: place.Job{Name: "a"}, Process: fmt.Sprint(i)}, alice)
		}
		s.begin(t.Context(), process("bob"), bob)
		check("as many as may be", "[a a a a a a a bob]")
		time.Sleep(time.Second)
		check("one more", "[a]")

		time.Sleep(24 * time.Hour)
		if check("asked for again, and not needed", "[]"); s.underWay(process("slow"), false) {
			t.Error("a start that is done is under way")
		}
		s.tasks.Wait()
	})
}

// TestSaidAfterRequest checks that output is printed when other requests no longer wait.
func TestSaidAfterRequest(t *testing.T) {
	p := place.Process{Job: place.Job{Root: t.TempDir(), Name: "web"}, Process: "web"}
	said := ""
	c := &Command{Stderr: writer(func(text string) {
		said += text
		lock, err := p.Request()
		if err != nil {
			t.Error(err)
			return
		}
		lock.Close()
	})}
	if err := c.request(p, func(c *Command) error { return c.end(t.Context(), p) }); err != nil {
		t.Fatal(err)
	}
	if want := "bpjob: process web is not running\n"; said != want {
		t.Errorf("got %q, want %q", said, want)
	}
}

// writer calls a function for each write.
type writer func(string)

func (w writer) Write(p []byte) (int, error) {
	w(string(p))
	return len(p), nil
}

// TestStartsThatWait: a start that waits for others knows since when.
func TestStartsThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var waited []time.Duration
		s := newStarts(func(_ context.Context, p place.Process, _ uint32, since time.Time) bool {
			if p.Name == "last" {
				waited = append(waited, since.Sub(begun), time.Since(since))
			}
			time.Sleep(time.Minute)
			return true
		})
		for i := range startsAtOnce {
			s.begin(t.Context(), place.Process{Job: place.Job{Name: fmt.Sprint(i)}}, 1)
		}
		synctest.Wait()
		s.begin(t.Context(), place.Process{Job: place.Job{Name: "last"}}, 1)
		s.tasks.Wait()
		if want := []time.Duration{0, time.Minute}; !slices.Equal(waited, want) {
			t.Errorf("got %v, want %v", waited, want)
		}
	})
}

// TestStoppedSince: the service does not start a process that was stopped since it was to start it.
func TestStoppedSince(t *testing.T) {
	p := place.Process{Job: place.Job{Root: t.TempDir(), Name: "web"}, Process: "web"}
	lock, err := p.Request() // makes its directory
	if err != nil {
		t.Fatal(err)
	}
	lock.Close()
	at := time.Now()
	text := func(d time.Duration) string { return at.Add(d).Format(time.RFC3339Nano) }
	for _, tt := range []struct {
		state life.State
		since string
		want  bool
	}{
		{life.Stopped, text(-1), true},
		{life.Stopped, text(1), false},
		{life.Stopped, "", false},
		{life.Failed, text(-1), false},
	} {
		var r place.Record
		r.State, r.Since = tt.state, at
		if err := p.Write(r); err != nil {
			t.Fatal(err)
		}
		if got, err := stoppedSince(p, tt.since); err != nil || got != tt.want {
			t.Errorf("%+v: got %v, %v", tt, got, err)
		}
	}
	if _, err := stoppedSince(p, "noon"); err == nil {
		t.Error("noon is no time")
	}
}
