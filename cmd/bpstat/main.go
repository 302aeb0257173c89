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
	s := bpstat.Stat{Client: new(client.Client), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv}
	if _, err := unix.IoctlGetTermios(unix.Stdout, unix.TCGETS); err == nil {
		s.Screen = screen
	}
	os.Exit(s.Main(context.Background(), os.Args[1:]))
}

// screen returns the size of the terminal, or the usual size if the terminal has none.
func screen() (width, lines int) {
	ws, err := unix.IoctlGetWinsize(unix.Stdout, unix.TIOCGWINSZ)
	if err != nil || ws.Col == 0 || ws.Row == 0 {
		return 80, 24
	}
	return int(ws.Col), int(ws.Row)
}
