// Verdict reads the output of go test -json and prints what matters, as it comes: the
// line with which each package closes, the output of each test that failed, and what
// is at work for long. Of a package that ended in the middle of its tests, or did not
// end at all, it prints which tests had begun and what they printed last. A test that
// was skipped has not been made, so it counts as failed.
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
	// Whoever ends make test wants to know what it was doing.
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

// heeded leaves out the signals that this process was started to ignore, as nohup(1)
// does.
func heeded(signals ...os.Signal) []os.Signal {
	return slices.DeleteFunc(signals, signal.Ignored)
}
