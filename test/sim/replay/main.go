// Replay gives a recording of a daemon (bpmaster --record, bpslave --record) to another core, and
// prints each input with its outputs, as a transcript: replay master|slave DIRECTORY.
package main

import (
	"fmt"
	"io"
	"os"

	"bproc/internal/recording"
	master "bproc/master/core"
	slave "bproc/slave/core"
)

func main() {
	if err := replay(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "replay: %v\n", err)
		os.Exit(1)
	}
}

func replay(args []string) error {
	if len(args) != 2 || args[0] != "master" && args[0] != "slave" {
		return fmt.Errorf("usage: replay master|slave DIRECTORY")
	}
	var m recording.Machine = new(master.Recorded)
	if args[0] == "slave" {
		m = new(slave.Recorded)
	}
	var all []io.Reader
	for _, path := range recording.Paths(args[1]) {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		all = append(all, f)
	}
	whole, err := recording.Replay(io.MultiReader(all...), os.Stdout, m)
	if err == nil && !whole {
		fmt.Fprintf(os.Stderr, "replay: %s does not go back to the start of the daemon: its state at the beginning is not known, so there are no outputs\n", args[1])
	}
	return err
}
