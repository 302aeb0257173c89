package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"bproc/cmd/internal/operands"
)

// readyFlag names the option with the descriptor that gets a byte when the view is mounted.
const readyFlag = "ready-fd"

// helper returns the command that mount(8) runs for the type fuse.bpprocfs. It starts the daemon
// and ends when the view is mounted. From then on nothing is logged.
func helper(name string) *cobra.Command {
	var options []string
	c := &cobra.Command{
		Use: name + " SOURCE MOUNTPOINT", Args: operands.Named("source", "mount point"), SilenceErrors: true, SilenceUsage: true,
		RunE: func(_ *cobra.Command, args []string) error {
			daemon := []string{"--" + readyFlag, "3", "--" + detachFlag}
			for _, o := range options {
				if o == "keep" || o == "lazy" {
					daemon = append(daemon, "--"+o)
				}
			}
			return start(append(daemon, args[1]))
		},
	}
	// These are the options that mount(8) passes to every helper. Mount options other than keep and
	// lazy are for mount(8) itself or for other file systems.
	c.Flags().StringSliceVarP(&options, "options", "o", nil, "")
	for _, short := range []string{"s", "f", "n", "v"} {
		c.Flags().BoolP("mount-"+short, short, false, "")
	}
	c.Flags().StringP("type", "t", "", "")
	c.SetFlagErrorFunc(operands.FlagError)
	return c
}

// start runs the daemon, detached from this process, and waits until it is ready.
func start(args []string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("pipe: %w", err)
	}
	defer r.Close()
	cmd := exec.Command(exe, args...)
	cmd.Args[0] = "bpprocfs"
	cmd.Dir = "/"
	cmd.Stderr = os.Stderr
	cmd.ExtraFiles = []*os.File{w}
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	err = cmd.Start()
	w.Close()
	if err != nil {
		return fmt.Errorf("start %s: %w", exe, err)
	}
	if n, err := r.Read(make([]byte, 1)); n == 1 {
		return nil
	} else if !errors.Is(err, io.EOF) {
		return fmt.Errorf("wait for the view: %w", err)
	}
	// The daemon has ended, and has printed why.
	return cmd.Wait()
}
