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

// event is an event of go test -json (go doc test2json).
type event struct {
	Action     string
	Package    string
	ImportPath string // in build events
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

// verdict has the results so far. One goroutine uses it.
type verdict struct {
	out     io.Writer
	running map[name]*running // begun and not ended: packages and their tests
	closed  []string          // closing lines of packages
	bad     []string          // names of tests that failed or were skipped, one line each
	unended []string          // lines about packages and tests that never ended

	passed, failed, skipped int
}

func newVerdict(out io.Writer) *verdict {
	return &verdict{out: out, running: map[name]*running{}}
}

// read handles events until their end, or that of ctx. Tests and packages that have not ended then
// have failed, and are printed.
func (v *verdict) read(ctx context.Context, r io.Reader) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	lines := make(chan []byte)
	go func() { cancel(scan(ctx, r, lines)) }() // ends with the program: a read cannot be canceled
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

// scan sends lines. It returns io.EOF at their end.
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

// line handles a line. A line that is not an event comes from go itself, and is printed.
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

// at returns the record of a running test or package.
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

// endPackage prints the closing line of a package. If it failed outside of its tests, it prints all
// output of the package, and that of the tests that have not ended. A package without tests is
// "skip".
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

// endTests prints the output of the tests of a package that were running when its process ended:
// they show where it hung, if that is why it ended.
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
			continue // it ended with its package, or is output of no package
		}
		r := v.at(pkg)
		v.failed++
		v.endTests(n.Package)
		v.neverEnded(pkg, r)
	}
}

// neverEnded reports a test or a package that did not end, with its output.
func (v *verdict) neverEnded(n name, r *running) {
	line := fmt.Sprintf("never ended: %v, begun %v before\n", n, r.since())
	v.unended = append(v.unended, line)
	v.write([]string{line})
	v.write(bounded(r.output))
	delete(v.running, n)
}

// names returns the running tests and packages, sorted by name.
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

// print prints the summary, and reports whether every test was made and passed.
func (v *verdict) print() bool {
	good := v.failed == 0 && v.skipped == 0 && v.passed > 0
	if !good { // the lines are far up, above the output of the failed tests
		fmt.Fprintln(v.out, "\nsummary:")
		v.write(v.bad)
		v.write(v.unended)
		v.write(v.closed)
	}
	fmt.Fprintf(v.out, "%d tests passed, %d failed, %d skipped\n", v.passed, v.failed, v.skipped)
	return good
}
