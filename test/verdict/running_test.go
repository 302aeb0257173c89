package main

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestStillRunning has a test that takes long, and one that waits for others as long.
func TestStillRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		v := newVerdict(&out)
		r, w := io.Pipe()
		done := make(chan error)
		go func() { done <- v.read(t.Context(), r) }()
		say := func(lines ...string) {
			for _, line := range lines {
				if _, err := io.WriteString(w, line+"\n"); err != nil {
					t.Fatal(err)
				}
			}
		}
		say(`{"Action":"start","Package":"p"}`,
			`{"Action":"run","Package":"p","Test":"TestLong"}`,
			`{"Action":"run","Package":"p","Test":"TestParallel"}`,
			`{"Action":"pause","Package":"p","Test":"TestParallel"}`)
		time.Sleep(2*longTime + tickTime)
		say(`{"Action":"pass","Package":"p","Test":"TestLong"}`,
			`{"Action":"cont","Package":"p","Test":"TestParallel"}`)
		time.Sleep(longTime + tickTime)
		say(`{"Action":"output","Package":"p","Test":"TestParallel","Output":"waits\n"}`)
		w.Close()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		const want = `still running: p TestLong 1m0s
still running: p TestLong 2m0s
still running: p TestParallel 1m0s
never ended: p TestParallel, begun 1m5s before
waits
never ended: p, begun 3m10s before
`
		if out.String() != want {
			t.Errorf("got %q, want %q", &out, want)
		}
		if v.print() {
			t.Error("it counts as good")
		}
	})
}

// TestBounded has a test that has printed much before the process timed out.
func TestBounded(t *testing.T) {
	lines := func(what string, n int) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprintln(what, i))
		}
		return all
	}
	var output []string
	output = append(output, lines("output", lastLines+10)...)
	output = append(output, "panic: test timed out after 15m0s\n")
	output = append(output, lines("stack", crashLines)...)
	got := bounded(output)
	if len(got) != 1+lastLines+crashLines+1 {
		t.Errorf("%d lines", len(got))
	}
	for at, want := range map[int]string{
		0: "[10 lines]\n", 1: "output 10\n", 1 + lastLines: "panic: test timed out after 15m0s\n",
		lastLines + crashLines: fmt.Sprintln("stack", crashLines-2), 1 + lastLines + crashLines: "[1 lines]\n",
	} {
		if got[at] != want {
			t.Errorf("line %d: got %q, want %q", at, got[at], want)
		}
	}
	if got := bounded(output[:3]); len(got) != 3 {
		t.Errorf("a short output: got %q", got)
	}
}
