// Verdict reads the output of go test -json and prints the important part as it comes: the closing
// line of each package, the output of each failed test, and tests that run for long. For a package
// that ended in the middle of its tests, or not at all, it prints the tests that had begun and
// their last output. A skipped test was not made, so it counts as failed.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"

	"golang.org/x/sys/unix"
)

func main() {
	// When make test is interrupted, print the running tests.
	ctx, stop := context.WithCancel(context.Background())
	if signals := heeded(unix.SIGINT, unix.SIGTERM, unix.SIGHUP); len(signals) > 0 {
		ctx, stop = signal.NotifyContext(ctx, signals...)
	}
	defer stop()
	v := newVerdict(os.Stdout)
	if err := v.read(ctx, os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "verdict:", err)
		v.failed++
	}
	if !v.print() {
		os.Exit(1)
	}
}

// heeded removes the signals that this process was started to ignore, as by nohup(1).
func heeded(signals ...os.Signal) []os.Signal {
	return slices.DeleteFunc(signals, signal.Ignored)
}
