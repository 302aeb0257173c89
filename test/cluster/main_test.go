package cluster_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"bproc/test/cluster"
	"bproc/test/cluster/liars"
	"bproc/test/cluster/manynodes"
)

// victimVariable makes this binary a program with a running cluster, which
// [TestNothingSurvivesTheTests] kills.
const victimVariable = "BPROCTEST_VICTIM"

func TestMain(m *testing.M) {
	if os.Getenv(victimVariable) != "" {
		os.Exit(victim())
	}
	if os.Getenv(launcherVariable) != "" {
		if err := launcher(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	for variable, program := range map[string]func([]string) error{
		apiVariable:        checkAPI,
		liarVariable:       liar,
		askerVariable:      asker,
		lenderVariable:     lender,
		flooderVariable:    flooder,
		liars.Variable:     liars.Main,
		manynodes.Variable: manynodes.Main,
		viewerVariable:     func([]string) error { return viewer() },
	} {
		if os.Getenv(variable) == "" {
			continue
		}
		if err := program(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(cluster.Main(m))
}

// victim starts a cluster with a process in it, and waits until it is killed.
func victim() int {
	c, err := cluster.New(context.Background(), cluster.Config{Nodes: 2, Bare: true})
	if err == nil {
		err = c.Nodes[0].Command(context.Background(), cluster.Alice, "sleep", "1000").Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("started")
	select {}
}
