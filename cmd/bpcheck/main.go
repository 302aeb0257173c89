// Command bpcheck is "bpctl check", which executes it: it links what looks at the kernel
// and at the network, and bpctl does not. See bpctl(8).
package main

import (
	"context"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"bproc/cmd/internal/bpcheck"
	"bproc/cmd/internal/release"
	"bproc/internal/check"
	"bproc/internal/probe"
	"bproc/master"
)

func main() {
	c := bpcheck.Command{
		Machine: check.Machine{
			Root: probe.Machine, Prefix: prefix(), UID: os.Geteuid(), Release: release.Version(), Probes: check.RealProbes(),
		},
		Stdout: os.Stdout, Stderr: os.Stderr,
		Colours: coloured(),
	}
	c.Machine.FrontEnd = frontEnd
	os.Exit(c.Main(context.Background(), os.Args[1:]))
}

// coloured tells whether standard output is a terminal that shows colours, and the user
// wants them (no-color.org).
func coloured() bool {
	_, err := unix.IoctlGetTermios(int(os.Stdout.Fd()), unix.TCGETS)
	return err == nil && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// prefix returns the directory in which bproc is installed: this program is in lib/bproc.
func prefix() string {
	exe, err := os.Executable()
	if err != nil {
		return "/usr/local"
	}
	return filepath.Join(filepath.Dir(exe), "..", "..")
}

// frontEnd reads the master's configuration. With an error it returns the defaults.
func frontEnd(path string) (listen, state string, err error) {
	cfg := master.DefaultConfig()
	err = cfg.ReadFile(path)
	return cfg.Listen, cfg.State, err
}
