// Command bpcp copies files to, from and between nodes. See bpcp(1).
package main

import (
	"context"
	"os"

	"bproc/cmd/internal/bpcp"
	"bproc/internal/client"
)

func main() {
	c := bpcp.Copier{Client: new(client.Client), Stdout: os.Stdout, Stderr: os.Stderr, Terminal: bpcp.TerminalOf(os.Stderr)}
	os.Exit(c.Main(context.Background(), os.Args[1:]))
}
