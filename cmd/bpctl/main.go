// Command bpctl changes the nodes of the cluster. See bpctl(8).
package main

import (
	"context"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"bproc/cmd/internal/bpctl"
	"bproc/internal/client"
)

func main() {
	c := bpctl.Control{Client: new(client.Client), Checker: checker(), Stdout: os.Stdout, Stderr: os.Stderr, Shown: isTerminal(os.Stderr)}
	os.Exit(c.Main(context.Background(), os.Args[1:]))
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// checker returns the path of bpcheck. This program is in bin.
func checker() string {
	exe, err := os.Executable()
	if err != nil {
		return "bpcheck"
	}
	return filepath.Join(filepath.Dir(exe), "..", "lib", "bproc", "bpcheck")
}
