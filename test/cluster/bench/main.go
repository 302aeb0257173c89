package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == launcherArg {
		exit("bench "+launcherArg, launcher(context.Background(), os.Args[2:]))
	}
	only := flag.String("only", "", "measure figures whose names match this `regexp`")
	runs := flag.Int("runs", 5, "`number` of runs, whose median is the value")
	flag.Parse()
	names, err := regexp.Compile(*only)
	if err != nil {
		exit("bench", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	b := &bench{runs: *runs, out: os.Stdout, done: map[string]bool{}, clusters: map[int]*cluster.Cluster{}}
	err = errors.Join(b.run(ctx, names), b.close(ctx), cluster.Finish())
	stop()
	exit("bench", err)
}

func exit(name string, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
	os.Exit(0)
}
