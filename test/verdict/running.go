package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// longTime is the interval at which a test is reported to be still running.
	longTime = time.Minute
	// tickTime is the interval of checks for that.
	tickTime = 5 * time.Second

	// lastLines is how much of the output of a test that never ended is printed, and crashLines how
	// much of the Go runtime's output when the process ended.
	lastLines, crashLines = 200, 1000
)

// running is a test or a package that has begun and not ended.
type running struct {
	begun    time.Time
	paused   bool     // it waits until the tests before it are done (testing.T.Parallel)
	reported int      // number of reports that it is still running
	output   []string // lines
}

func newRunning() *running { return &running{begun: time.Now()} }

// resume starts the time anew: the wait for other tests does not count.
func (r *running) resume() {
	r.paused, r.begun, r.reported = false, time.Now(), 0
}

// since returns how long it has been running, to the second.
func (r *running) since() time.Duration { return time.Since(r.begun).Round(time.Second) }

// reportLong reports each test that has been running for another [longTime].
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

// bounded returns the last lines of an output, and the first ones of the Go runtime's output after
// them: the reason, and stacks.
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

// isCrash recognizes the first line that the Go runtime prints when a process crashes.
func isCrash(line string) bool {
	for _, prefix := range []string{"panic: ", "fatal error: ", "SIGQUIT: ", "SIGABRT: ", "SIGSEGV: "} {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return false
}
