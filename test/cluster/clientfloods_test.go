package cluster_test

import (
	"fmt"
	"testing"
	"time"

	"bproc/test/cluster"
)

// floodsOfCommands are floods by scripts, without a special client. Their argument is the duration.
var floodsOfCommands = map[string]string{
	"output":                  `timeout $1 bpsh 0 sh -c 'yes & yes >&2; wait' >/dev/null 2>&1; true`,
	"output that is not read": `timeout $1 bpsh 0 yes | sleep $1; true`,
	"input":                   `yes | timeout $1 bpsh 0 cat >/dev/null; true`,
	"input that is not read":  `yes | timeout $1 bpsh 0 sleep 1000; true`,
	"calls":                   `timeout $1 bpsh 0 sh -c 'for i in 1 2 3 4; do while :; do kill -0 1; kill -0 -- -$$; done 2>/dev/null & done; wait'; true`,
	"births":                  `timeout $1 bpsh 0 sh -c 'for i in 1 2 3 4; do while :; do (:) & wait; done & done; wait'; true`,
	"launches":                `timeout $1 sh -c 'for i in 1 2 3 4; do while :; do bpsh 0 true; done & done; wait'; true`,
	"looks":                   `timeout $1 bpns sh -c 'for i in 1 2 3 4; do while :; do ps -ef >/dev/null; done & done; wait'; true`,
}

// TestFloodsOfClients has Alice's commands take all resources that they can get. After each the
// cluster works for other users as before, and its daemons' memory has not grown.
func TestFloodsOfClients(t *testing.T) {
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	w := newWitness(t, c)
	for name, script := range floodsOfCommands {
		t.Run(name, func(t *testing.T) {
			w.t, w.r.t = t, t
			begin := time.Now()
			res, err := c.Front.Command(t.Context(), cluster.Alice, "sh", "-c", script, "sh", fmt.Sprint(floodTime.Seconds())).Result()
			if err != nil || res.Code != 0 {
				t.Fatalf("got %+v, %v", res, err)
			}
			t.Logf("it takes %v", time.Since(begin).Round(time.Millisecond))
			w.asBefore()
		})
	}
	w.t, w.r.t = t, t
	w.end()
}
