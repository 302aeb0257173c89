// Bpgroups loads the BPF program by which bpkeeper knows which signals were for process groups, and
// gives it to bpkeeper, which has started it. It is a program of its own, so that bpkeeper has not the code and the
// memory that loading needs.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"bproc/ghost/groupkill/load"
)

func main() {
	to := flag.Int("to-fd", -1, "`descriptor` of the socket to bpkeeper")
	flag.Parse()
	if err := run(*to); err != nil {
		fmt.Fprintf(os.Stderr, "bpgroups: %v\n", err)
		os.Exit(1)
	}
}

func run(to int) error {
	w, err := load.Load()
	if err != nil {
		return err
	}
	return errors.Join(w.Send(to), w.Close())
}
