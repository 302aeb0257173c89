// Command bprsh runs a command on a node, with the conventions of rsh and ssh. See bprsh(1).
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
