package space

import (
	"errors"
	"os"

	"bproc/internal/probe"
	"bproc/slave/pid1/filter"
	"bproc/slave/pid1/supervise"
)

// Probe reports what the kernel of this node lacks for a process space, each with the option or
// version that provides it.
func Probe() error {
	return errors.Join(
		probeBuild(),
		probeRoot(),
		probe.Machine.PIDNamespaces(),
		probe.Machine.Cursor(),
		probe.SetTID(),
		probe.CloseRange(),
		filter.Check(),
		supervise.Check(),
		probe.Machine.Freezer(),
	)
}

func probeBuild() error {
	if !withCgo {
		return errors.New("built without cgo, which entering namespaces needs")
	}
	return nil
}

func probeRoot() error {
	if os.Geteuid() != 0 {
		return errors.New("a process space needs root")
	}
	return nil
}
