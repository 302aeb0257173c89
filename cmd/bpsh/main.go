// Command bpsh runs a command on nodes of the cluster. Under the name srun it takes the options of
// Slurm's srun. See bpsh(1).
package main

import (
	"context"
	"os"
	"path/filepath"

	"bproc/cmd/internal/bpsh"
	"bproc/cmd/internal/terminal"
	"bproc/internal/client"
)

func main() {
	if terminal.Guard() {
		return
	}
	sh := bpsh.Shell{
		Client: new(client.Client),
		Stdin:  client.NewFile(os.Stdin), Stdout: client.NewFile(os.Stdout), Stderr: client.NewFile(os.Stderr),
		CatchAfter: bpsh.CatchAfter,
	}
	if filepath.Base(os.Args[0]) == "srun" {
		os.Exit(sh.Srun(context.Background(), os.Args[1:]))
	}
	os.Exit(sh.Main(context.Background(), os.Args[1:]))
}
