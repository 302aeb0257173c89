// Command bpjob runs jobs: isolated, limited and supervised processes. See bpjob(1).
package main

import (
	"context"
	"os"
	"path/filepath"

	"bproc/cmd/internal/bpjob"
	"bproc/cmd/internal/terminal"
	"bproc/internal/job/door"
)

func main() {
	if !door.Enter() {
		os.Exit(1)
	}
	if terminal.Guard() {
		return
	}
	c := bpjob.Command{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, BPM: filepath.Base(os.Args[0]) == bpjob.BPM}
	os.Exit(c.Main(context.Background(), os.Args[1:]))
}
