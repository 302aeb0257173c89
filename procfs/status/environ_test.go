package status_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"bproc/procfs/status"
	"bproc/wire"
)

// environs collects the environments that a View tells.
type environs map[wire.PID][]byte

// take applies one message, as a viewer does.
func (e environs) take(tb testing.TB, m *wire.Changed) {
	tb.Helper()
	for _, t := range m.Procs {
		switch {
		case t.Environ == wire.EnvironNotTold:
			delete(e, t.PID)
		case t.Environ > 0 && int(t.Environ) <= len(m.Environs):
			e[t.PID] = m.Environs[t.Environ-1]
		case t.Environ != wire.EnvironAsBefore || e[t.PID] == nil:
			tb.Errorf("process %d has environment %d of %d", t.PID, t.Environ, len(m.Environs))
		}
	}
	for i, a := range m.Environs {
		for _, b := range m.Environs[:i] {
			if bytes.Equal(a, b) {
				tb.Errorf("one message tells %q twice", a)
			}
		}
	}
}

func (e environs) refresh(tb testing.TB, c *status.Collector, v *status.View) (told int) {
	tb.Helper()
	c.Forget()
	err := v.Refresh(false, func(m *wire.Changed) error {
		e.take(tb, m)
		told += len(m.Environs)
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return told
}

// TestViewTellsEnviron has processes with their own, shared and long environments.
func TestViewTellsEnviron(t *testing.T) {
	s := newSpace(t)
	c := s.collector()
	start := func(environ string) wire.PID { return s.start("env -i " + environ + " /bin/sleep 1000") }
	shared := []wire.PID{start("A=B C=D"), start("A=B C=D"), start("A=B C=D")}
	empty, own := start(""), start("A=own")
	long := start("A=" + strings.Repeat("x", wire.MaxEnviron))
	want := map[wire.PID]string{empty: "", own: "A=own\x00"}
	for _, pid := range shared {
		want[pid] = "A=B\x00C=D\x00"
	}
	v, got := c.View(true), environs{}
	eventually(t, func() error {
		got.refresh(t, c, v)
		for pid, text := range want {
			if is, has := got[pid]; !has || string(is) != text {
				return fmt.Errorf("process %d: got %q, %v, want %q", pid, is, has, text)
			}
		}
		if is, has := got[long]; has {
			return fmt.Errorf("an environment of %d bytes is told", len(is))
		}
		return nil
	})
	s.run(fmt.Sprintf("kill -STOP %d; echo done", own))
	until(t, c, v, "a stop", func(m wire.Changed) bool {
		if len(m.Environs) > 0 {
			t.Errorf("%q is told again", m.Environs)
		}
		return texts(own, has("State:\tT "))(m)
	})
	if told := (environs{}).refresh(t, c, c.View(false)); told > 0 {
		t.Errorf("%d environments are told to somebody who is not root", told)
	}
}

// TestViewTellsEnvironOfExec has a process execute the same command with another environment.
func TestViewTellsEnvironOfExec(t *testing.T) {
	s := newSpace(t)
	c := s.collector()
	v, got := c.View(true), environs{}
	const again = `trap "exec env -i A=2 /bin/sh -c \"\$0\" \"\$0\"" USR1; while :; do sleep 0.01; done`
	pid := s.start("env -i A=1 /bin/sh -c '" + again + "' '" + again + "'")
	is := func(text string) func() error {
		return func() error {
			got.refresh(t, c, v)
			if string(got[pid]) != text {
				return fmt.Errorf("got %q, want %q", got[pid], text)
			}
			return nil
		}
	}
	eventually(t, is("A=1\x00"))
	// It has its environment before its trap: bit 9 of the caught signals.
	s.run(fmt.Sprintf("until grep -q 'SigCgt:.*[2367abef]..$' /proc/%d/status; do sleep 0.01; done; kill -USR1 %d; echo done", pid, pid))
	eventually(t, is("A=2\x00"))
}
