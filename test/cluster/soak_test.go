package cluster_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bproc/test/cluster"
	"bproc/test/limit"
)

// soakVariable names the environment variable with the time for which TestSoak and TestStressNG
// run, such as 2m.
const soakVariable = "BPROC_SOAK"

// soakLength returns that time.
func soakLength(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv(soakVariable)
	if text == "" {
		return limit.Scaled(5*time.Second) + 5*time.Second
	}
	length, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("%s: %v", soakVariable, err)
	}
	return length
}

// TestSoak has three nodes and the front end make processes and threads as fast as they can, from
// blocks of numbers so small that they are used up all the time. No number may be wrong, or have
// two owners.
func TestSoak(t *testing.T) {
	const nodes, workers, block = 3, 2, 384
	const turns = 4 // times that a block's numbers are used up, at least, even on a busy machine
	length := soakLength(t)
	cluster.Watch(t, length+3*time.Minute)
	program := cluster.Program(t, "testdata/conform/soak.c", "-static")
	owners := filepath.Join(scratch(t), "owners")
	if err := os.WriteFile(owners, make([]byte, 1<<22), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(owners, 0o666); err != nil {
		t.Fatal(err)
	}
	config := fewestNumbers
	if limit.Slow() { // the storms leave the daemons of four machines without their one processor
		config += "lease 300\n"
	}
	c := cluster.Start(t, cluster.Config{Nodes: nodes, MasterConfig: config, Realtime: true})
	places := []place{native}
	for i := range nodes * workers {
		places = append(places, place{fmt.Sprint("node ", i%nodes), []string{"bpsh", fmt.Sprint(i % nodes)}})
	}
	var running []*conversation
	for _, at := range places {
		running = append(running, converse(t, c, cluster.Alice, at, program, owners, fmt.Sprint(int(length.Seconds()))))
	}
	made := 0
	for i, v := range running {
		v.patience = length + quietTimeout
		lines := v.rest()
		var forks, threads int
		if _, err := fmt.Sscanf(lines[0], "forks %d threads %d", &forks, &threads); err != nil || !slices.Equal(lines[1:], []string{"exit code 0"}) {
			t.Errorf("%s: %s", places[i].name, strings.Join(lines[:min(len(lines), 20)], "\n"))
		}
		if i > 0 {
			made += forks + threads
		}
	}
	t.Logf("%d processes and threads on the nodes in %v: %d blocks", made, length, made/block)
	if made/block < turns {
		t.Errorf("too few to say anything")
	}
	left, err := os.ReadFile(owners)
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(left, func(owner byte) bool { return owner != 0 }); i >= 0 {
		t.Errorf("number %d still has an owner", i)
	}
	cluster.Eventually(t, "nothing is left", func() error { return idle(c) })
	noErrors(t, c)
}
