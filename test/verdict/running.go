package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// longTime is after how long a test is said to be still running, again and again.
	longTime = time.Minute
	// tickTime is how often that is looked at.
	tickTime = 5 * time.Second

	// lastLines is how much of the output of a test that never ended is printed, and
	// crashLines how much of what the Go runtime printed when the process ended.
	lastLines, crashLines = 200, 1000
)

// running is a test or a package that has begun and not ended.
type running struct {
	begun    time.Time
	paused   bool     // it waits until the tests before it are done (testing.T.Parallel)
	reported int      // times that it was said to be still running
	output   []string // lines
}

func newRunning() *running { return &running{begun: time.Now()} }

// resume begins anew: what a test has waited for others is not its own.
func (r *running) resume() {
	r.paused, r.begun, r.reported = false, time.Now(), 0
}

// since is how long it has been running, to the second.
func (r *running) since() time.Duration { return time.Since(r.begun).Round(time.Second) }

// reportLong says of each test that it has been running for another [longTime].
func (v *verdict) reportLong() {
	for _, n := range v.names() {
		r := v.running[n]
		times := int(time.Since(r.begun) / longTime)
		if n.Test == "" || r.paused || times <= r.reported {
			continue
		}
		r.reported = times
		fmt.Fprintf(v.out, "still running: %v %v\n", n, r.since())
	}
}

// bounded returns the last lines of an output, and the first ones of what the Go
// runtime has added to it: the reason, and stacks.
func bounded(output []string) []string {
	crash := slices.IndexFunc(output, isCrash)
	if crash < 0 {
		crash = len(output)
	}
	before, after := output[:crash], output[crash:]
	if cut := len(before) - lastLines; cut > 0 {
		before = slices.Concat([]string{fmt.Sprintf("[%d lines]\n", cut)}, before[cut:])
	}
	if cut := len(after) - crashLines; cut > 0 {
		after = slices.Concat(after[:crashLines], []string{fmt.Sprintf("[%d lines]\n", cut)})
	}
	return slices.Concat(before, after)
}

// isCrash recognises the first line of a process's last words.
func isCrash(line string) bool {
	for _, prefix := range []string{"panic: ", "fatal error: ", "SIGQUIT: ", "SIGABRT: ", "SIGSEGV: "} {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return false
}
