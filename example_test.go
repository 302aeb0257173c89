package bproc_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"syscall"
	"time"

	"bproc"
)

func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var cluster bproc.Client
	out, err := cluster.Command(2, "sh", "-c", "hostname; exit 7").Output(ctx)
	fmt.Printf("%s", out)
	var exit *bproc.ExitError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		fmt.Println("killed after a minute")
	case errors.As(err, &exit):
		fmt.Println("exit code", exit.ExitCode())
	case err != nil:
		log.Fatal(err)
	}
}

func ExampleClient_Nodes() {
	var cluster bproc.Client
	nodes, err := cluster.Nodes(context.Background())
	if errors.Is(err, bproc.ErrNoMaster) {
		log.Fatal("this is not the front end of a cluster")
	} else if err != nil {
		log.Fatal(err)
	}
	for _, n := range nodes {
		fmt.Println(n.ID, n.Name, n.State, n.Procs)
	}
}

func ExampleCmd_Signal() {
	ctx := context.Background()
	var cluster bproc.Client
	cmd := cluster.Command(2, "sleep", "1000")
	if err := cmd.Start(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("ps shows a process of node 2 here:", cmd.PID)
	if err := cmd.Signal(syscall.SIGTERM); err != nil {
		log.Fatal(err)
	}
	fmt.Println(cmd.Wait()) // killed by signal 15 (SIGTERM)
}

func ExampleCmd_StdoutPipe() {
	var cluster bproc.Client
	cmd := cluster.Command(2, "sort")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		log.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		log.Fatal(err)
	}
	if err := cmd.Start(context.Background()); err != nil {
		log.Fatal(err)
	}
	go func() {
		_, _ = io.WriteString(stdin, "pear\napple\n")
		_ = stdin.Close()
	}()
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		fmt.Println(lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		log.Fatal(err)
	}
}

func ExampleRunAll() {
	ctx := context.Background()
	var cluster bproc.Client
	nodes, err := cluster.Resolve(ctx, "up")
	if err != nil {
		log.Fatal(err)
	}
	var cmds []*bproc.Cmd
	for _, node := range nodes {
		cmd := cluster.Command(node, "uname", "-r")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		cmds = append(cmds, cmd)
	}
	if err := bproc.RunAll(ctx, cmds...); err != nil {
		log.Fatal(err) // a line for each node on which the command failed
	}
}
