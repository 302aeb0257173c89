package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// event is what go test -json writes (go doc test2json).
type event struct {
	Action     string
	Package    string
	ImportPath string // in events of the build
	Test       string
	Output     string
}

// name is a test of a package, or the package itself if Test is empty.
type name struct{ Package, Test string }

func (n name) String() string {
	if n.Test == "" {
		return n.Package
	}
	return n.Package + " " + n.Test
}

// verdict is what has become known. One goroutine uses it.
type verdict struct {
	out     io.Writer
	running map[name]*running // begun and not ended: packages, and tests of them
	closed  []string          // lines with which packages have closed
	bad     []string          // lines with the names of tests that failed or were skipped
	unended []string          // lines about what never ended

	passed, failed, skipped int
}

func newVerdict(out io.Writer) *verdict {
	return &verdict{out: out, running: map[name]*running{}}
}

// read takes in events until their end, or that of ctx. What has not ended then has
// failed, and is printed.
func (v *verdict) read(ctx context.Context, r io.Reader) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	lines := make(chan []byte)
	go func() { cancel(scan(ctx, r, lines)) }() // ends with the program: a read cannot be given up
	tick := time.NewTicker(tickTime)
	defer tick.Stop()
	for {
		select {
		case line := <-lines:
			v.line(line)
		case <-tick.C:
			v.reportLong()
		case <-ctx.Done():
			v.endAll()
			if err := context.Cause(ctx); !errors.Is(err, io.EOF) {
				return err
			}
			return nil
		}
	}
}

// scan passes lines on. It returns io.EOF at their end.
func scan(ctx context.Context, r io.Reader, lines chan<- []byte) error {
	for b := bufio.NewReader(r); ; {
		line, err := b.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			select {
			case lines <- line:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if err != nil {
			return err
		}
	}
}

// line takes in an event. What is none comes from go itself, and is passed on.
func (v *verdict) line(line []byte) {
	var e event
	if err := json.Unmarshal(line, &e); err != nil {
		fmt.Fprintf(v.out, "%s\n", bytes.TrimSpace(line))
		return
	}
	v.event(e)
}

func (v *verdict) event(e event) {
	n := name{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(v.out, e.Output)
	case "start", "run":
		v.at(n)
	case "pause":
		v.at(n).paused = true
	case "cont":
		v.at(n).resume()
	case "output":
		v.at(n).output = append(v.at(n).output, e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			v.endPackage(e, n)
		} else {
			v.endTest(e, n)
		}
		delete(v.running, n)
	}
}

// at returns what is known of something that runs.
func (v *verdict) at(n name) *running {
	r := v.running[n]
	if r == nil {
		r = newRunning()
		v.running[n] = r
	}
	return r
}

func (v *verdict) endTest(e event, n name) {
	if e.Action == "pass" {
		v.passed++
		return
	}
	if e.Action == "skip" {
		v.skipped++
	} else {
		v.failed++
	}
	v.bad = append(v.bad, fmt.Sprintf("%s: %v\n", e.Action, n))
	v.write(v.at(n).output)
}

// endPackage prints the closing line of a package; if it failed outside of its tests,
// all that it has printed, and what the tests have that have not come to an end. A
// package without tests is "skip".
func (v *verdict) endPackage(e event, n name) {
	lines := v.at(n).output
	if len(lines) == 0 {
		lines = []string{"FAIL\t" + e.Package + "\n"} // it did not build
	}
	closing := lines[len(lines)-1]
	v.closed = append(v.closed, closing)
	if e.Action == "fail" {
		v.failed++
		v.endTests(e.Package)
		v.write(bounded(lines[:len(lines)-1]))
	}
	v.write([]string{closing})
}

// endTests prints of the tests of a package that were at work when its process ended
// what they have printed: in what they hung, if it ended for that.
func (v *verdict) endTests(pkg string) {
	for _, n := range v.names() {
		if n.Package != pkg || n.Test == "" {
			continue
		}
		v.neverEnded(n, v.running[n])
	}
}

// endAll does the same for all packages that have not ended.
func (v *verdict) endAll() {
	for _, n := range v.names() {
		pkg := name{Package: n.Package}
		if v.running[n] == nil || n.Package == "" {
			continue // ended with its package; or output of no package
		}
		r := v.at(pkg)
		v.failed++
		v.endTests(n.Package)
		v.neverEnded(pkg, r)
	}
}

// neverEnded prints that, and what a test or a package has printed until then.
func (v *verdict) neverEnded(n name, r *running) {
	line := fmt.Sprintf("never ended: %v, begun %v before\n", n, r.since())
	v.unended = append(v.unended, line)
	v.write([]string{line})
	v.write(bounded(r.output))
	delete(v.running, n)
}

// names lists what is running, in the order of its names.
func (v *verdict) names() []name {
	all := make([]name, 0, len(v.running))
	for n := range v.running {
		all = append(all, n)
	}
	slices.SortFunc(all, func(a, b name) int {
		return cmp.Or(strings.Compare(a.Package, b.Package), strings.Compare(a.Test, b.Test))
	})
	return all
}

func (v *verdict) write(lines []string) {
	for _, line := range lines {
		fmt.Fprint(v.out, line)
	}
}

// print sums up, and reports whether every test was made and passed.
func (v *verdict) print() bool {
	good := v.failed == 0 && v.skipped == 0 && v.passed > 0
	if !good { // the lines are far up, above what the failed tests have printed
		fmt.Fprintln(v.out, "\nsummary:")
		v.write(v.bad)
		v.write(v.unended)
		v.write(v.closed)
	}
	fmt.Fprintf(v.out, "%d tests passed, %d failed, %d skipped\n", v.passed, v.failed, v.skipped)
	return good
}
