// Command bpstat prints the nodes of the cluster. See bpstat(1).
package main

import (
	"context"
	"os"

	"golang.org/x/sys/unix"

	"bproc/cmd/internal/bpstat"
	"bproc/internal/client"
)

func main() {
	s := bpstat.Stat{Client: new(client.Client), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Width: width()}
	os.Exit(s.Main(context.Background(), os.Args[1:]))
}

// width returns the width of the terminal, or what is usual where there is none.
func width() int {
	ws, err := unix.IoctlGetWinsize(unix.Stdout, unix.TIOCGWINSZ)
	if err != nil || ws.Col == 0 {
		return 80
	}
	return int(ws.Col)
}
