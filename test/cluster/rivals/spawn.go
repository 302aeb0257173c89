package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"bproc/test/cluster"
)

// spawnArg makes this program start commands on the front end:
//
//	rivals spawn COUNT INFLIGHT NODES COMMAND...
//
// It prints the median time of one in milliseconds, how many have succeeded per second, and how
// many have failed.
const spawnArg = "spawn"

func spawn(args []string) error {
	var numbers [3]int
	if len(args) <= len(numbers) {
		return errors.New("too few arguments")
	}
	for i := range numbers {
		n, err := strconv.Atoi(args[i])
		if err != nil {
			return err
		}
		numbers[i] = n
	}
	count, inflight, nodes := numbers[0], numbers[1], numbers[2]
	var mu sync.Mutex
	var times []float64
	free := make(chan struct{}, inflight)
	var all sync.WaitGroup
	begin := time.Now()
	for i := range count {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			argv := at(args[len(numbers):], i%nodes)
			since := time.Now()
			if err := exec.Command(argv[0], argv[1:]...).Run(); err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			times = append(times, time.Since(since).Seconds()*1000)
		})
	}
	all.Wait()
	took := time.Since(begin).Seconds()
	middle := 0.0
	if len(times) > 0 {
		middle = median(times)
	}
	_, err := fmt.Println(middle, float64(len(times))/took, count-len(times))
	return err
}

// at returns a command line for a node.
func at(argv []string, node int) []string {
	out := make([]string, len(argv))
	for i, a := range argv {
		out[i] = strings.ReplaceAll(a, "@", strconv.Itoa(node))
	}
	return out
}

// spawned runs spawn on the front end.
func (r *rivals) spawned(ctx context.Context, count, inflight int, argv []string) (middle, rate float64, failed int, err error) {
	exe, err := os.Executable()
	if err != nil {
		return 0, 0, 0, err
	}
	args := append([]string{exe, spawnArg, strconv.Itoa(count), strconv.Itoa(inflight), strconv.Itoa(min(4, r.nodes))}, argv...)
	res, err := r.c.Front.Exec(ctx, cluster.Root, args...)
	if err == nil && res.Code != 0 {
		err = fmt.Errorf("%s", res.Stderr)
	}
	if err == nil {
		_, err = fmt.Sscan(res.Stdout, &middle, &rate, &failed)
	}
	return middle, rate, failed, err
}
