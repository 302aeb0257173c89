package cluster_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"bproc/test/cluster"
)

// owners are the possible owners of node 0.
var owners = []string{"alice", "bob"}

// changes makes requests to a master that may be killed: alternately another owner for node 0, and
// a token.
type changes struct {
	t     *testing.T
	c     *cluster.Cluster
	owner string // the last one that the master has confirmed
	tried string // the last one that was requested
	token string // the last one that was issued
}

// make makes requests until the master does not answer, or ctx ends: then no master answers, and
// commands would wait for a while.
func (ch *changes) make(ctx context.Context) {
	ch.t.Helper()
	ch.tried = ch.owner
	for {
		for _, name := range owners {
			ch.tried = name
			if _, ok := ch.bpctl(ctx, "-S", "0", "-u", name); !ok {
				return
			}
			ch.owner = name
			token, ok := ch.bpctl(ctx, "enroll")
			if !ok {
				return
			}
			ch.token = strings.TrimSpace(token)
		}
	}
}

// bpctl reports whether the master answers.
func (ch *changes) bpctl(ctx context.Context, args ...string) (stdout string, ok bool) {
	ch.t.Helper()
	res, err := ch.c.Front.Exec(ctx, cluster.Root, append([]string{"bpctl"}, args...)...)
	if ctx.Err() != nil {
		return "", false
	}
	if err != nil {
		ch.t.Fatal(err)
	}
	return res.Stdout, res.Code == 0
}

// check compares the next master's state with the confirmed changes. Requests without an answer may
// have been carried out.
func (ch *changes) check() {
	ch.t.Helper()
	table := ask(ch.t, ch.c.Front, cluster.Root, "bpstat", "0")
	now := ""
	for _, field := range strings.Fields(table) {
		if field == "root" || slices.Contains(owners, field) {
			now = field
			break
		}
	}
	if now != ch.owner && now != ch.tried {
		ch.t.Fatalf("node 0 is %q's, want %q or, not answered, %q:\n%s", now, ch.owner, ch.tried, table)
	}
	ch.owner = now
}

// TestStateSurvivesKills kills the master again and again while nodes are enrolled and changed. The
// next master has all confirmed changes.
func TestStateSurvivesKills(t *testing.T) {
	t.Parallel()
	const kills = 12
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	r := rand.New(rand.NewPCG(1, 0))
	asked := &changes{t: t, c: c, owner: "root", token: ask(t, c.Front, cluster.Root, "bpctl", "enroll")}
	for range kills {
		killed := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer cancel()
			time.Sleep(time.Duration(r.Int64N(int64(100 * time.Millisecond))))
			killed <- c.Master.Kill()
		}()
		asked.make(ctx)
		if err := <-killed; err != nil {
			t.Fatal(err)
		}
		if err := c.StartMaster(t.Context()); err != nil {
			t.Fatal(err)
		}
		asked.check()
	}
	if err := c.WaitUp(t.Context(), 0); err != nil {
		t.Error(err)
	}
	if err := c.Slaves[0].Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	ask(t, c.Nodes[0], cluster.Root, "rm", "-r", "/var/lib/bproc/slave")
	if err := c.StartSlave(t.Context(), 0, "--join", asked.token); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitUp(t.Context(), 0); err != nil {
		t.Errorf("with a token from before the last kills: %v", err)
	}
}

// TestDamagedState has a master find one byte of its state changed. It reports that and leaves the
// file unchanged.
func TestDamagedState(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{NoSlaves: true})
	ask(t, c.Front, cluster.Root, "bpctl", "enroll")
	if err := c.Master.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	const name = cluster.StateDir + "/master/state"
	path, err := c.Front.Path(name)
	if err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	bad := append([]byte(nil), good...)
	bad[20] ^= 1
	for _, tc := range []struct {
		name string
		text []byte
		code int
	}{
		{"a bit is changed", bad, 1},
		{"it is cut", good[:len(good)/2], 1},
		{"it is empty", nil, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := os.WriteFile(path, tc.text, 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), lineTimeout)
			defer cancel()
			res, err := c.Front.Exec(ctx, cluster.Root, "bpmaster")
			if err != nil {
				t.Fatal(err)
			}
			last := res.Stderr[strings.LastIndex(strings.TrimSpace(res.Stderr), "\n")+1:]
			if res.Code != tc.code || !strings.HasPrefix(last, "bpmaster: ") || !strings.Contains(last, name) {
				t.Errorf("got %+v, want a last line that names %s", res, name)
			}
			if now, err := os.ReadFile(path); err != nil || string(now) != string(tc.text) {
				t.Errorf("the file was changed, %v", err)
			}
		})
	}
	if err := os.WriteFile(path, good, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.StartMaster(t.Context()); err != nil {
		t.Error(fmt.Errorf("with the good file: %w", err))
	}
}
