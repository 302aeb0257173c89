// Bpinit is the init of a process space: PID 1 of its PID namespace. The slave daemon passes the
// listening socket of the space as descriptor 3, and the node's home as arguments ([filter.Home]).
package main

import (
	"context"
	"log/slog"
	"os"

	"bproc/internal/sparselog"
	"bproc/slave/pid1"
)

func main() {
	log := slog.New(sparselog.New(slog.NewTextHandler(sparselog.NewFile(os.Stderr), nil)))
	if err := pid1.Main(context.Background(), os.Args[1:], log); err != nil {
		log.Error("init of the process space ends", "err", err)
		os.Exit(1)
	}
}
