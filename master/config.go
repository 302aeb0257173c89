package master

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"bproc/master/core"
	"bproc/pidmap"
	"bproc/wire"
	"bproc/wire/link"
)

// Config is what the master is told at its start. The configuration file has
// one directive a line, "#" begins a comment:
//
//	listen ADDRESS       for slaves; default ":2223"
//	socket PATH          for clients
//	node NUMBER NAME     a node that has its number before it joins
//	lease SECONDS        see [Config.Lease]
//	block COUNT          process numbers in a block that a node has
//	ghosts CGROUP        see [Config.Ghosts]
//	certificate TIME     see [Config.Certificate]
//	squash UID           see [Config.Squash]
type Config struct {
	Listen    string        // TCP address for slaves
	Socket    string        // unix socket for clients
	State     string        // directory for what survives a restart
	Runtime   string        // directory for sockets
	Lib       string        // directory with bpkeeper and the ghost's image
	Lease     time.Duration // a slave without word from the master kills its processes after this time
	BlockSize int           // process numbers in a block; 0: default
	Nodes     []NodeConfig
	Ghosts    string // control group for ghosts, from the top of its hierarchy; empty: that of who starts the process

	// Certificate is how long the certificate of a node is good, from when it joins or renews it;
	// 0: a year.
	Certificate time.Duration

	// Squash is as whom users appear of whom a node is not believed to have processes.
	Squash uint32

	// Last is asked when the master is told to end: whether no other follows it, because the
	// machine shuts down or bproc is removed. Then it ends all processes before. nil: never.
	Last    func() bool
	Release string // version of this program
}

// NodeConfig is a node directive.
type NodeConfig struct {
	ID   wire.NodeID
	Name string
}

// DefaultConfig returns the configuration that holds where nothing else is said.
func DefaultConfig() Config {
	return Config{
		Listen:  ":2223",
		Socket:  "/run/bproc/master.sock",
		State:   "/var/lib/bproc/master",
		Runtime: "/run/bproc",
		Lease:   30 * time.Second,
		Squash:  core.OverflowUser,
	}
}

// maxNode bounds node numbers; it is far beyond any cluster, and keeps a slip
// of the finger from making a table of millions.
const maxNode = 1 << 20

// ReadFile applies a configuration file.
func (c *Config) ReadFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	defer f.Close()
	if err := c.Read(f); err != nil {
		return fmt.Errorf("configuration %s: %w", path, err)
	}
	return nil
}

// Read applies the directives of r.
func (c *Config) Read(r io.Reader) error {
	lines := bufio.NewScanner(r)
	for number := 1; lines.Scan(); number++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		if err := c.directive(words[0], words[1:]); err != nil {
			return fmt.Errorf("line %d: %s: %w", number, words[0], err)
		}
	}
	return lines.Err()
}

func (c *Config) directive(name string, args []string) error {
	want := 1
	if name == "node" {
		want = 2
	}
	if len(args) != want {
		return fmt.Errorf("%d operands, not %d, are expected", want, len(args))
	}
	var err error
	switch name {
	case "listen":
		c.Listen = args[0]
	case "socket":
		c.Socket = args[0]
	case "lease":
		var seconds int
		seconds, err = number(args[0], 1, 86400)
		c.Lease = time.Duration(seconds) * time.Second
	case "block":
		c.BlockSize, err = number(args[0], pidmap.MinBlock, 1<<18)
	case "node":
		err = c.node(args[0], args[1])
	case "certificate":
		c.Certificate, err = life(args[0])
	case "ghosts":
		if c.Ghosts = args[0]; !path.IsAbs(c.Ghosts) || path.Clean(c.Ghosts) != c.Ghosts || c.Ghosts == "/" {
			err = fmt.Errorf("%q is not the path of a control group, which begins with a slash", args[0])
		}
	case "squash":
		var uid int
		uid, err = number(args[0], 1, math.MaxUint32-1)
		c.Squash = uint32(uid)
	default:
		err = errors.New("unknown directive")
	}
	return err
}

// Bounds on the life of a certificate: shorter ones leave no time to renew them.
const (
	minCertificate = 5 * time.Second
	maxCertificate = 100 * link.DefaultLife
)

func life(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < minCertificate || d > maxCertificate {
		return 0, fmt.Errorf("%q is not a time from %v to %v, such as 8760h", text, minCertificate, maxCertificate)
	}
	return d, nil
}

func (c *Config) node(id, name string) error {
	n, err := number(id, 0, maxNode)
	if err != nil {
		return err
	}
	for _, have := range c.Nodes {
		if have.ID == wire.NodeID(n) || have.Name == name {
			return fmt.Errorf("node %d %s: number or name is given twice", n, name)
		}
	}
	c.Nodes = append(c.Nodes, NodeConfig{ID: wire.NodeID(n), Name: name})
	return nil
}

func number(text string, low, high int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("%q is not a number from %d to %d", text, low, high)
	}
	return n, nil
}
