package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
	"bproc/test/cluster/liars"
	"bproc/test/cluster/manynodes"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == launcherArg {
		exit("bench "+launcherArg, launcher(context.Background(), os.Args[2:]))
	}
	if os.Getenv(manynodes.Variable) != "" {
		exit("bench nodes", manynodes.Main(os.Args[1:]))
	}
	if os.Getenv(liars.Variable) != "" {
		exit("bench liar", liars.Main(os.Args[1:]))
	}
	only := flag.String("only", "", "measure figures whose names match this `regexp`")
	runs := flag.Int("runs", 5, "`number` of runs, whose median is the value")
	sizes := numbers{100, 1000, 10000}
	flag.Var(&sizes, "sizes", "`numbers` of processes that programs look at, in rising order")
	volume := &copies{}
	flag.Int64Var(&volume.bytes, "copybytes", 1<<30, "`size` of the large file that is copied")
	flag.IntVar(&volume.files, "copyfiles", 20_000, "`number` of the small files that are copied")
	nodes := flag.Int("nodes", 4000, "`number` of simulated nodes")
	flag.Parse()
	names, err := regexp.Compile(*only)
	if err != nil {
		exit("bench", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	b := &bench{runs: *runs, out: os.Stdout, figures: allFigures(sizes, *nodes), nodes: *nodes, copies: volume, done: map[string]bool{}, clusters: map[int]*cluster.Cluster{}}
	err = errors.Join(b.run(ctx, names), b.close(ctx), cluster.Finish())
	stop()
	exit("bench", err)
}

// numbers are positive numbers, separated by commas.
type numbers []int

func (n *numbers) String() string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(*n), " ", ","), "[]")
}

// Set implements [flag.Value].
func (n *numbers) Set(text string) error {
	*n = nil
	for word := range strings.SplitSeq(text, ",") {
		v, err := strconv.Atoi(word)
		if err != nil || v <= 0 || len(*n) > 0 && v <= (*n)[len(*n)-1] {
			return fmt.Errorf("%q is not in its place", word)
		}
		*n = append(*n, v)
	}
	return nil
}

func exit(name string, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
	os.Exit(0)
}
