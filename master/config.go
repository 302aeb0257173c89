package master

import (
	"os"
	"time"

	"bproc/master/core"
	"bproc/pidmap"
	"bproc/wire"
)

// Config is the configuration of the master at its start, from its command line and the
// configuration file (configfile.go, directives.go).
type Config struct {
	Listen  string        // TCP address for slaves
	Socket  string        // unix socket for clients
	State   string        // directory for data that survives a restart
	Runtime string        // directory for sockets
	Record  string        // directory for the last inputs; empty: they are not kept
	Lib     string        // directory with bpkeeper and the ghost's image
	Lease   time.Duration // a slave that hears nothing from the master kills its processes after this time
	Numbers pidmap.Config // for the layout of process numbers
	Nodes   []NodeConfig
	Ghosts  string // control group for ghosts, from the top of its hierarchy; empty: they stay in their parents'

	SetUp     string        // set-up script of nodes; empty: none
	SetUpTime time.Duration // a set-up that takes longer has failed
	SetUps    int           // set-ups that run at once
	PowerOn   []string      // command that switches a node on; empty: none
	PowerTime time.Duration // a node that takes longer to go down is in error
	Logs      string        // directory for the logs of nodes

	// Certificate is how long a node's certificate is good after the node joins or renews it; 0: a
	// year.
	Certificate time.Duration

	// Squash is the user in place of any that a node is not believed about.
	Squash uint32

	// Rights to start processes on nodes that join for the first time.
	Mode uint32
	UID  uint32
	GID  uint32

	// Load reads the configuration again, for [Master.Reload] and at each signal of Reloads; nil:
	// it cannot be read again.
	Load    func() (Config, error)
	Reloads <-chan os.Signal

	// Last reports, when the master is told to end, whether no other master follows, because the
	// machine shuts down or bproc is removed. Then the master ends all processes first. nil:
	// another always follows.
	Last    func() bool
	Release string // version of this program

	next wire.NodeID // number of the next node with an address
}

// DefaultSetUp is the set-up script unless the configuration names another. It need not exist.
const DefaultSetUp = "/etc/bproc/node_up"

// timeForNode is the time between signs of life for each expected node. It bounds the master's
// processor time for them, if the lease is long enough.
const timeForNode = 2500 * time.Microsecond

// interval returns the time between signs of life; 0: the default.
func (c *Config) interval() time.Duration {
	const usual = 3 * time.Second // at most
	if t := min(time.Duration(c.Numbers.Nodes)*timeForNode, c.Lease/10); t > usual {
		return t
	}
	return 0
}

// DefaultConfig returns the default configuration.
func DefaultConfig() Config {
	return Config{
		Listen:  ":2223",
		Socket:  "/run/bproc/master.sock",
		State:   "/var/lib/bproc/master",
		Runtime: "/run/bproc",
		Lease:   30 * time.Second,
		Squash:  core.OverflowUser,
		Mode:    0o111,

		SetUp: DefaultSetUp, SetUpTime: 5 * time.Minute, SetUps: 32, PowerTime: core.DefaultPowerTime, Logs: "/var/log/bproc",
	}
}
