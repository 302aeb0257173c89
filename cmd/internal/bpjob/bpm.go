package bpjob

import (
	"context"
	"errors"
	"fmt"
	"net" //nolint:depguard // the way to the service (door) needs it in any case
	"net/netip"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"bproc/cmd/internal/release"
	"bproc/internal/client"
	"bproc/internal/job/place"
)

// BPM is the name under which bpjob behaves as bpm: it works with jobs on this machine's own node.
const BPM = "bpm"

// bpmRoot is bpm's variable for the directory that contains the jobs.
const bpmRoot = "BPM_BOSH_ROOT"

// bpmColumns is the number of columns in bpm's list.
const bpmColumns = 3

// errBPMRoot is bpm's message to ordinary users.
var errBPMRoot = errors.New("bpm must be run as root. Please run 'sudo -i' to become the root user")

// likeBPM takes over bpm's environment. The programs that this program starts are called bpjob.
func likeBPM() error {
	if os.Geteuid() != 0 {
		return errBPMRoot
	}
	root := os.Getenv(bpmRoot)
	if root == "" {
		return nil
	}
	return os.Setenv(place.RootVariable, root)
}

// ownNode returns the node that this machine is: the one that is connected from an address of this
// machine.
func ownNode(ctx context.Context) (string, error) {
	nodes, err := new(client.Client).Nodes(ctx)
	if err != nil {
		return "", err
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return "", fmt.Errorf("addresses of this machine: %w", err)
	}
	for _, n := range nodes {
		at, err := netip.ParseAddrPort(n.Addr)
		if err != nil {
			continue // not connected
		}
		if slices.ContainsFunc(own, func(a net.Addr) bool {
			p, err := netip.ParsePrefix(a.String())
			return err == nil && p.Addr().Unmap() == at.Addr().Unmap().WithZone("")
		}) {
			return n.ID.String(), nil
		}
	}
	return "", errors.New("this machine is not a node, or its bpslave is not connected: bpm has its own processes only; use bpjob -N for those of other nodes")
}

// versionCommand exists because bpm has it.
func (c *Command) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Hidden: !c.BPM, Args: nothing,
		Short: "Print the version",
		RunE:  func(*cobra.Command, []string) error { return c.printVersion() },
	}
}

func (c *Command) printVersion() error {
	_, err := fmt.Fprintf(c.Stdout, "%s %s\n", c.name(), release.Version())
	return err
}
