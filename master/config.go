package master

import (
	"os"
	"time"

	"bproc/master/core"
	"bproc/pidmap"
	"bproc/wire"
)

// Config is what the master is told at its start, by its command line and the configuration file
// (configfile.go, directives.go).
type Config struct {
	Listen  string        // TCP address for slaves
	Socket  string        // unix socket for clients
	State   string        // directory for what survives a restart
	Runtime string        // directory for sockets
	Record  string        // directory in which the last inputs are kept; empty: they are not
	Lib     string        // directory with bpkeeper and the ghost's image
	Lease   time.Duration // a slave without word from the master kills its processes after this time
	Numbers pidmap.Config // for what process numbers are laid out
	Nodes   []NodeConfig
	Ghosts  string // control group for ghosts, from the top of its hierarchy; empty: that of who starts the process

	SetUp     string        // set-up script of nodes; empty: none
	SetUpTime time.Duration // a set-up that takes longer has failed
	SetUps    int           // set-ups that run at once
	PowerOn   []string      // command that switches a node on; empty: none
	PowerTime time.Duration // a node that is told to go down is in error if that takes longer
	Logs      string        // directory for the logs of nodes

	// Certificate is how long the certificate of a node is good, from when it joins or renews it;
	// 0: a year.
	Certificate time.Duration

	// Squash is as whom users appear of whom a node is not believed to have processes.
	Squash uint32

	// Rights to start processes on nodes that join for the first time.
	Mode uint32
	UID  uint32
	GID  uint32

	// Load reads the configuration again, for [Master.Reload], at each of Reloads; nil: that
	// cannot be.
	Load    func() (Config, error)
	Reloads <-chan os.Signal

	// Last is asked when the master is told to end: whether no other follows it, because the
	// machine shuts down or bproc is removed. Then it ends all processes before. nil: never.
	Last    func() bool
	Release string // version of this program

	next wire.NodeID // that the next node with an address has
}

// DefaultSetUp is the set-up script of nodes where nothing else is said. It need not be there.
const DefaultSetUp = "/etc/bproc/node_up"

// timeForNode is what signs of life take of the time between them for each expected node: so the
// master's processor time for them is bounded, if the lease is long enough.
const timeForNode = 2500 * time.Microsecond

// interval returns the time between signs of life; 0: the usual.
func (c *Config) interval() time.Duration {
	const usual = 3 * time.Second // at most
	if t := min(time.Duration(c.Numbers.Nodes)*timeForNode, c.Lease/10); t > usual {
		return t
	}
	return 0
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
		Mode:    0o111,

		SetUp: DefaultSetUp, SetUpTime: 5 * time.Minute, SetUps: 32, PowerTime: core.DefaultPowerTime, Logs: "/var/log/bproc",
	}
}
