// Command bpctl changes the nodes of the cluster. See bpctl(8).
package main

import (
	"context"
	"os"

	"bproc"
	"bproc/cmd/internal/bpctl"
)

func main() {
	c := bpctl.Control{Client: bproc.Default(), Stdout: os.Stdout, Stderr: os.Stderr}
	os.Exit(c.Main(context.Background(), os.Args[1:]))
}
