// Command bpcheck implements "bpctl check". It is a program of its own because it links code that
// inspects the kernel and the network, which bpctl does without. See bpctl(8).
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

// coloured reports whether standard output is a terminal with colours and the user wants them
// (no-color.org).
func coloured() bool {
	_, err := unix.IoctlGetTermios(int(os.Stdout.Fd()), unix.TCGETS)
	return err == nil && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// prefix returns the directory in which bproc is installed. This program is in lib/bproc.
func prefix() string {
	exe, err := os.Executable()
	if err != nil {
		return "/usr/local"
	}
	return filepath.Join(filepath.Dir(exe), "..", "..")
}

// frontEnd reads the master's configuration. On error it returns the defaults too.
func frontEnd(path string) (listen, state string, err error) {
	cfg := master.DefaultConfig()
	err = cfg.ReadFile(path)
	return cfg.Listen, cfg.State, err
}
