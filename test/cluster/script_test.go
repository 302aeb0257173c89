package cluster_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"bproc/test/cluster"
)

// TestScripts runs the scripts in testdata. They have these commands besides testscript's own:
//
//	cluster N [DIRECTIVE...]    start a cluster of N nodes; a directive is a line of the master's configuration
//	user NAME                   the user of the following commands: root, alice, bob
//	front CMD ARG...            a command on the front end
//	node N CMD ARG...           a command on node N, outside of the process space
//	bpsh, bpstat, bpctl ARG...  short for front bpsh ...
//	exitcode N                  check the exit code of the last command
//	killnode N                  power failure of node N; wait until it is down
//	reboot N                    switch node N on again; wait until it is up
//	cut N, heal N               disconnect node N from the network, connect it again
//	up N, down N                wait until node N is in this state
func TestScripts(t *testing.T) {
	t.Parallel()
	commands := map[string]func(ts *testscript.TestScript, neg bool, args []string){
		"cluster":  startScriptCluster,
		"user":     scriptUser,
		"exitcode": scriptExitCode,
		"front":    scriptFront,
		"node":     scriptNode,
	}
	for _, name := range []string{"bpsh", "bpstat", "bpctl"} {
		commands[name] = func(ts *testscript.TestScript, neg bool, args []string) {
			scriptFront(ts, neg, append([]string{name}, args...))
		}
	}
	for name, do := range map[string]func(ctx context.Context, c *cluster.Cluster, i int) error{
		"killnode": func(ctx context.Context, c *cluster.Cluster, i int) error {
			if err := c.Nodes[i].Off(); err != nil {
				return err
			}
			return c.WaitDown(ctx, i)
		},
		"reboot": func(ctx context.Context, c *cluster.Cluster, i int) error {
			if err := c.Nodes[i].Reboot(); err != nil {
				return err
			}
			if err := c.StartSlave(ctx, i); err != nil {
				return err
			}
			return c.WaitUp(ctx, i)
		},
		"cut":  func(_ context.Context, c *cluster.Cluster, i int) error { return c.Cut(i) },
		"heal": func(_ context.Context, c *cluster.Cluster, i int) error { return c.Heal(i) },
		"up":   func(ctx context.Context, c *cluster.Cluster, i int) error { return c.WaitUp(ctx, i) },
		"down": func(ctx context.Context, c *cluster.Cluster, i int) error { return c.WaitDown(ctx, i) },
	} {
		commands[name] = func(ts *testscript.TestScript, neg bool, args []string) {
			scriptNodeEvent(ts, neg, args, do)
		}
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		Cmds:                commands,
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			tb, ok := env.T().(testing.TB)
			if !ok {
				t.Fatal("testscript gives no testing.TB")
			}
			env.Values[scriptKey] = &scriptState{t: tb, user: cluster.Root}
			return nil
		},
	})
}

// scriptKey is the key of a script's state in the values of its environment.
var scriptKey = new(int)

type scriptState struct {
	t       testing.TB
	cluster *cluster.Cluster
	user    cluster.User
	code    int
}

func stateOfScript(ts *testscript.TestScript) *scriptState {
	return ts.Value(scriptKey).(*scriptState) // Setup has put it there
}

func startScriptCluster(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: cluster N [DIRECTIVE...]")
	}
	config := cluster.Config{Nodes: scriptInt(ts, args[0])}
	for _, directive := range args[1:] {
		config.MasterConfig += directive + "\n"
	}
	s := stateOfScript(ts)
	s.cluster = cluster.Start(s.t, config)
}

func scriptUser(ts *testscript.TestScript, neg bool, args []string) {
	for _, u := range []cluster.User{cluster.Root, cluster.Alice, cluster.Bob} {
		if !neg && len(args) == 1 && args[0] == u.Name {
			stateOfScript(ts).user = u
			return
		}
	}
	ts.Fatalf("usage: user root|alice|bob")
}

func scriptExitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: exitcode N")
	}
	if want, got := scriptInt(ts, args[0]), stateOfScript(ts).code; got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func scriptFront(ts *testscript.TestScript, neg bool, args []string) {
	scriptExec(ts, neg, scriptCluster(ts).Front, args)
}

func scriptNode(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: node N CMD ARG...")
	}
	scriptExec(ts, neg, scriptCluster(ts).Nodes[scriptInt(ts, args[0])], args[1:])
}

// scriptExec runs a command, which must succeed, or fail after "!".
func scriptExec(ts *testscript.TestScript, neg bool, m *cluster.Machine, argv []string) {
	s := stateOfScript(ts)
	res, err := m.Exec(s.t.Context(), s.user, argv...)
	ts.Check(err)
	s.code = res.Code
	for out, text := range map[interface{ Write([]byte) (int, error) }]string{ts.Stdout(): res.Stdout, ts.Stderr(): res.Stderr} {
		_, err := out.Write([]byte(text))
		ts.Check(err)
	}
	if failed := res.Code != 0; failed != neg {
		ts.Fatalf("%v: exit code %d: %s", argv, res.Code, res.Stderr)
	}
}

func scriptNodeEvent(ts *testscript.TestScript, neg bool, args []string, do func(context.Context, *cluster.Cluster, int) error) {
	if neg || len(args) != 1 {
		ts.Fatalf("want the number of a node")
	}
	ctx, cancel := context.WithTimeout(stateOfScript(ts).t.Context(), lineTimeout)
	defer cancel()
	ts.Check(do(ctx, scriptCluster(ts), scriptInt(ts, args[0])))
}

func scriptCluster(ts *testscript.TestScript) *cluster.Cluster {
	s := stateOfScript(ts)
	if s.cluster == nil {
		ts.Fatalf("no cluster was started")
	}
	return s.cluster
}

func scriptInt(ts *testscript.TestScript, text string) int {
	n, err := strconv.Atoi(text)
	ts.Check(err)
	return n
}
