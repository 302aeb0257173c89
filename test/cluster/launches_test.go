package cluster_test

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// launchesVariable names the environment variable with the number of launches of TestLaunches with
// each kind of driver (make launches).
const launchesVariable = "BPROC_LAUNCHES"

// fewLaunches is the default number.
const fewLaunches = 150

func launchCount(t *testing.T) int {
	t.Helper()
	text := os.Getenv(launchesVariable)
	if text == "" {
		return fewLaunches
	}
	count, err := strconv.Atoi(text)
	if err != nil || count < 1 {
		t.Fatalf("%s=%s: a number of launches", launchesVariable, text)
	}
	return count
}

// driverKind is a kind of testdata/driver.go, with the signal that ends it early.
type driverKind struct {
	name   string
	signal unix.Signal
	group  bool
}

// TestLaunches has drivers like hydra, GNU parallel and xargs start commands by bprsh. Commands,
// agents and drivers are killed at random. Everything that the drivers see must be right, and
// nothing may be left.
func TestLaunches(t *testing.T) {
	t.Parallel()
	count := launchCount(t)
	cluster.Watch(t, 10*time.Minute+time.Duration(count)*500*time.Millisecond)
	c := cluster.Shared(t, 4)
	program := cluster.Program(t, "testdata/driver.go")
	for _, kind := range []driverKind{{"hydra", unix.SIGKILL, false}, {"parallel", unix.SIGTERM, false}, {"xargs", unix.SIGKILL, true}} {
		t.Run(kind.name, func(t *testing.T) {
			seed := rand.IntN(1 << 30)
			r := rand.New(rand.NewPCG(uint64(seed), 0))
			began := time.Now()
			done, killed := 0, 0
			for done < count && !t.Failed() {
				most := min(count-done, 20+r.IntN(100+count/5))
				until := most
				if r.IntN(2) == 0 {
					until = r.IntN(most)
					killed++
				}
				done += kind.drive(t, c, program, most, until, r.IntN(1<<30))
			}
			cluster.Eventually(t, "nothing is left", func() error { return noAgents(c) })
			t.Logf("seed %d: %d launches in %.1f s, %d drivers were killed", seed, done, time.Since(began).Seconds(), killed)
		})
	}
}

// drive runs a driver, kills it after a number of launches, and returns how many are done.
func (kind driverKind) drive(t *testing.T, c *cluster.Cluster, program string, count, until, seed int) (done int) {
	t.Helper()
	const width = "32"
	cmd := c.Front.Command(t.Context(), cluster.Root, program, kind.name, fmt.Sprint(count), width, fmt.Sprint(seed), "n0", "n1", "n2", "n3")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := func() {
		pid := cmd.Process.Pid
		if kind.group {
			pid = -pid
		}
		if err := unix.Kill(pid, kind.signal); err != nil && !errors.Is(err, unix.ESRCH) {
			t.Error(err)
		}
	}
	if until == 0 {
		kill()
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if line := lines.Text(); line != "ok" {
			t.Errorf("%s, seed %d: %s", kind.name, seed, line)
		}
		if done++; done == until && until < count {
			kill()
		}
	}
	err = cmd.Wait()
	if until == count && (err != nil || done != count || stderr.Len() > 0) {
		t.Errorf("%s, seed %d: %d of %d launches; %v; %s", kind.name, seed, done, count, err, stderr.String())
	}
	return done
}

// noAgents returns an error if agents are left, or that of idle.
func noAgents(c *cluster.Cluster) error {
	agents, err := c.Front.Named("bprsh")
	if err == nil && len(agents) > 0 {
		err = fmt.Errorf("%d agents are left, %v the first", len(agents), agents[0].Args)
	}
	return errors.Join(err, idle(c))
}
