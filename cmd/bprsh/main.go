// Command bprsh runs a command on a node, with the conventions of rsh and ssh. See bprsh(1).
//
// Like bpsh it is started very often, so the runtime skips the search for the processor limits of a
// container.
//
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0
package main

import (
	"context"
	"os"

	"bproc/cmd/internal/bprsh"
	"bproc/cmd/internal/bpsh"
	"bproc/cmd/internal/terminal"
	"bproc/internal/client"
)

func main() {
	if terminal.Guard() {
		return
	}
	sh := bpsh.Shell{
		Name: "bprsh", Client: new(client.Client),
		Stdin: client.NewFile(os.Stdin), Stdout: client.NewFile(os.Stdout), Stderr: client.NewFile(os.Stderr),
		CatchAfter: bpsh.CatchAfter,
	}
	os.Exit(bprsh.Main(context.Background(), &sh, os.Args[1:]))
}
