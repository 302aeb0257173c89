package cluster_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bproc/test/cluster"
)

// fewestNumbers is the smallest zone that can be configured: four nodes have 384 numbers each, and
// there are two more such blocks on demand.
const fewestNumbers = "process-numbers 3072\nexpected-nodes 4\n"

// TestFewNumbers has two of three nodes fork as much as they can in a small zone. They get EAGAIN,
// and the log says why. The third one forks as many as its own numbers allow, each time, and no
// process is killed on any node.
func TestFewNumbers(t *testing.T) {
	const (
		hoard = 3000 // more than there are numbers
		least = 200  // that 384 numbers allow, beside init's own
	)
	length := 10 * time.Second
	c := cluster.Start(t, cluster.Config{Nodes: 3, MasterConfig: fewestNumbers, Realtime: true})
	program := cluster.Program(t, "testdata/conform/hoard.c", "-static")
	start := func(node, children int) *conversation {
		at := place{fmt.Sprint("node ", node), []string{"bpsh", fmt.Sprint(node)}}
		return converse(t, c, cluster.Root, at, program, fmt.Sprint(children), fmt.Sprint(int(length.Seconds())))
	}
	storms := []*conversation{start(0, hoard), start(1, hoard)}
	cluster.Eventually(t, "both want more than there is", func() error {
		numbers := numbersOf(t, c)
		for _, n := range numbers.Nodes {
			if n.Home != 384 || n.Number < 2 && !n.Short {
				return fmt.Errorf("%+v", numbers)
			}
		}
		return nil
	})
	third := start(2, least)
	made := func(v *conversation) (rounds, made, fewest, most, refused int) {
		t.Helper()
		v.patience = length + quietTimeout
		lines := v.rest()
		if _, err := fmt.Sscanf(lines[0], "rounds %d made %d least %d most %d refused %d", &rounds, &made, &fewest, &most, &refused); err != nil ||
			!slices.Equal(lines[1:], []string{"exit code 0"}) {
			t.Errorf("%s", strings.Join(lines[:min(len(lines), 20)], "\n"))
		}
		t.Log(lines[0])
		return
	}
	for _, v := range storms {
		if _, _, _, most, refused := made(v); refused == 0 || most >= hoard || most < least {
			t.Errorf("a storm had %d processes, and EAGAIN %d times", most, refused)
		}
	}
	if _, _, fewest, _, refused := made(third); fewest < least || refused > 0 {
		t.Errorf("the third node had %d processes, and EAGAIN %d times; want %d always", fewest, refused, least)
	}
	cluster.Eventually(t, "nothing is left", func() error { return idle(c) })
	if n := count(t, c, "front/log/bpmaster.log", "gets no more process numbers"); n == 0 {
		t.Error("the log does not say that there are too few numbers")
	}
	noErrors(t, c)
}

// numberUse is a part of the output of "bpstat --numbers --json".
type numberUse struct {
	Free  int `json:"pool_free"`
	Pool  int `json:"pool"`
	Nodes []struct {
		Number int  `json:"number"`
		Home   int  `json:"home"`
		Short  bool `json:"short"`
	} `json:"nodes"`
}

func numbersOf(t *testing.T, c *cluster.Cluster) (u numberUse) {
	t.Helper()
	if err := json.Unmarshal([]byte(ask(t, c.Front, cluster.Alice, "bpstat", "--numbers", "--json")), &u); err != nil {
		t.Fatal(err)
	}
	return u
}
