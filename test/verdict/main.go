// Verdict reads the output of go test -json and prints what matters: the line
// with which each package closes, and the output of each test that failed. A
// test that was skipped has not been made, so it counts as failed.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// event is what go test -json writes (go doc test2json).
type event struct {
	Action     string
	Package    string
	ImportPath string // in events of the build
	Test       string
	Output     string
}

func main() {
	v := verdict{out: os.Stdout, output: map[string][]string{}}
	if err := v.read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "verdict:", err)
		os.Exit(1)
	}
	if !v.print() {
		os.Exit(1)
	}
}

type verdict struct {
	out    io.Writer
	output map[string][]string // of each test that has not passed, by package and name
	closed []string            // lines with which packages have closed

	passed, failed, skipped int
}

func (v *verdict) read(r io.Reader) error {
	d := json.NewDecoder(r)
	for {
		var e event
		err := d.Decode(&e)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		v.event(e)
	}
}

func (v *verdict) event(e event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "build-output":
		fmt.Fprint(v.out, e.Output)
	case "output":
		v.output[key] = append(v.output[key], e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			v.endPackage(e, key)
		} else {
			v.endTest(e, key)
		}
		delete(v.output, key)
	}
}

func (v *verdict) endTest(e event, key string) {
	if e.Action == "pass" {
		v.passed++
		return
	}
	if e.Action == "skip" {
		v.skipped++
	} else {
		v.failed++
	}
	fmt.Fprint(v.out, strings.Join(v.output[key], ""))
}

// endPackage prints the closing line of a package; if it failed outside of its tests,
// all that it has printed, and what the tests have that have not come to an end. A
// package without tests is "skip".
func (v *verdict) endPackage(e event, key string) {
	lines := v.output[key]
	if len(lines) == 0 {
		lines = []string{"FAIL\t" + e.Package + "\n"} // it did not build
	}
	closing := lines[len(lines)-1]
	v.closed = append(v.closed, closing)
	if e.Action == "fail" {
		v.failed++
		v.unended(e.Package)
		fmt.Fprint(v.out, strings.Join(lines[:len(lines)-1], ""))
	}
	fmt.Fprint(v.out, closing)
}

// unended prints what tests of a package have printed that were at work when its
// process ended: in what they hung, if it ended for that.
func (v *verdict) unended(pkg string) {
	for _, key := range slices.Sorted(maps.Keys(v.output)) {
		if strings.HasPrefix(key, pkg+" ") && key != pkg+" " {
			fmt.Fprint(v.out, strings.Join(v.output[key], ""))
			delete(v.output, key)
		}
	}
}

// print sums up, and reports whether every test was made and passed.
func (v *verdict) print() bool {
	good := v.failed == 0 && v.skipped == 0 && v.passed > 0
	if !good { // the lines are far up, above what the failed tests have printed
		fmt.Fprintln(v.out, "\nsummary:")
		for _, line := range v.closed {
			fmt.Fprint(v.out, line)
		}
	}
	fmt.Fprintf(v.out, "%d tests passed, %d failed, %d skipped\n", v.passed, v.failed, v.skipped)
	return good
}
