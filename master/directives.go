package master

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"bproc/internal/accounts"
	"bproc/pidmap"
	"bproc/wire/link"
)

// directive is a directive of the configuration.
type directive struct {
	form        string // of its operands, as in bpmaster(8)
	least, most int    // number of operands; most < 0: any number
	apply       func(c *Config, args []string) error

	show    func(c *Config) string // value in force; nil: nodes, or another directive shows it
	restart bool                   // a change needs another master
}

// directives are all directives.
var directives = map[string]directive{
	"listen": {"ADDRESS", 1, 1, func(c *Config, args []string) error { return c.listen(args[0]) }, func(c *Config) string { return c.Listen }, true},
	"socket": {"PATH", 1, 1, (*Config).socket, func(c *Config) string { return c.Socket }, true},
	"lease": {
		"SECONDS", 1, 1, duration(func(c *Config) *time.Duration { return &c.Lease }, time.Second, 24*time.Hour),
		func(c *Config) string { return c.Lease.String() }, true,
	},
	"certificate": {"TIME", 1, 1, (*Config).certificate, func(c *Config) string { return cmp.Or(c.Certificate, link.DefaultLife).String() }, true},
	"ghosts":      {"CGROUP", 1, 1, (*Config).ghosts, func(c *Config) string { return cmp.Or(c.Ghosts, "none") }, false},
	"squash":      {"UID", 1, 1, (*Config).squash, func(c *Config) string { return strconv.Itoa(int(c.Squash)) }, false},

	"expected-nodes": {
		"COUNT", 1, 1, count(func(c *Config) *int { return &c.Numbers.Nodes }, 1, pidmap.MaxNodes),
		func(c *Config) string { return orDefault(c.Numbers.Nodes) }, true,
	},
	"expected-processes": {
		"COUNT", 1, 1, count(func(c *Config) *int { return &c.Numbers.Processes }, 1, pidmap.MaxNumbers),
		func(c *Config) string { return orDefault(c.Numbers.Processes) }, true,
	},
	"process-numbers": {
		"COUNT", 1, 1, count(func(c *Config) *int { return &c.Numbers.Numbers }, pidmap.MinNumbers, pidmap.MaxNumbers),
		func(c *Config) string { return orDefault(c.Numbers.Numbers) }, true,
	},

	"node":    {"NUMBER NAME | FIRST-LAST NAME%n", 2, 2, (*Config).node, nil, false},
	"ip":      {"[NUMBER] ADDRESS...", 1, -1, (*Config).addresses, nil, false},
	"iprange": {"[NUMBER] FIRST LAST", 2, 3, (*Config).addressRange, nil, false},
	"mode":    {"MODE", 1, 1, (*Config).mode, func(c *Config) string { return fmt.Sprintf("%03o", c.Mode) }, false},
	"owner":   {"USER", 1, 1, (*Config).owner, func(c *Config) string { return strconv.Itoa(int(c.UID)) }, false},
	"group":   {"GROUP", 1, 1, (*Config).group, func(c *Config) string { return strconv.Itoa(int(c.GID)) }, false},

	"setup": {"FILE | none", 1, 1, (*Config).setup, func(c *Config) string { return cmp.Or(c.SetUp, "none") }, false},
	"setup-time": {
		"SECONDS", 1, 1, duration(func(c *Config) *time.Duration { return &c.SetUpTime }, time.Second, 24*time.Hour),
		func(c *Config) string { return c.SetUpTime.String() }, false,
	},
	"setups":   {"COUNT", 1, 1, count(func(c *Config) *int { return &c.SetUps }, 1, 1000), func(c *Config) string { return strconv.Itoa(c.SetUps) }, false},
	"logs":     {"DIRECTORY", 1, 1, (*Config).logs, func(c *Config) string { return c.Logs }, false},
	"power-on": {"COMMAND [ARGUMENT...]", 1, -1, (*Config).powerOn, func(c *Config) string { return cmp.Or(strings.Join(c.PowerOn, " "), "none") }, false},
	"power-time": {
		"SECONDS", 1, 1, duration(func(c *Config) *time.Duration { return &c.PowerTime }, time.Second, 24*time.Hour),
		func(c *Config) string { return c.PowerTime.String() }, false,
	},

	// Words of the original BProc for other directives.
	"master":      {"HOST[:PORT]", 1, 1, (*Config).master, nil, false},
	"bprocport":   {"PORT", 1, 1, (*Config).port, nil, false},
	"pingtimeout": {"SECONDS", 1, 1, duration(func(c *Config) *time.Duration { return &c.Lease }, time.Second, 24*time.Hour), nil, false},
	"nodes":       {"COUNT", 1, 1, count(func(c *Config) *int { return &c.Numbers.Nodes }, 1, pidmap.MaxNodes), nil, false},

	// Words of former releases.
	"block": {"COUNT", 1, 1, func(_ *Config, args []string) error { _, err := number(args[0], 1, pidmap.MaxNumbers); return err }, nil, false},
}

// retired are directives of the original BProc that mean nothing here, with advice.
var retired = map[string]string{
	"interface":           "say 'listen ADDRESS'",
	"allowinsecureports":  "remove it; nodes have certificates",
	"logfacility":         "remove it; the log is on standard error",
	"slavetimesync":       "remove it; nodes have a time service",
	"slave":               "remove it; see bpslave(8)",
	"node_up":             "say 'setup FILE', 'setup-time SECONDS' and 'setups COUNT'",
	"libraries":           "remove it",
	"librariesfrombinary": "remove it",
	"bootfile":            "remove it",
	"masterorder":         "remove it; there is one front end",
	"prestage":            "remove it",
}

func orDefault(n int) string {
	if n == 0 {
		return "the default"
	}
	return strconv.Itoa(n)
}

// maxNode bounds node numbers. It is far beyond any cluster, and keeps a typing error from making a
// table of millions.
const maxNode = 1 << 20

// count applies a number within bounds.
func count(field func(*Config) *int, low, high int) func(*Config, []string) error {
	return func(c *Config, args []string) (err error) {
		*field(c), err = number(args[0], low, high)
		return err
	}
}

// duration applies a number of seconds, or a time with a unit, within bounds.
func duration(field func(*Config) *time.Duration, low, high time.Duration) func(*Config, []string) error {
	return func(c *Config, args []string) error {
		d, err := time.ParseDuration(args[0])
		if seconds, e := strconv.Atoi(args[0]); e == nil && seconds <= int(high/time.Second) {
			d, err = time.Duration(seconds)*time.Second, nil
		}
		if err != nil || d < low || d > high {
			return fmt.Errorf("%q is not a time from %d to %d seconds, such as 90 or 5m", args[0], int(low/time.Second), int(high/time.Second))
		}
		*field(c) = d
		return nil
	}
}

func (c *Config) ghosts(args []string) error {
	if c.Ghosts = args[0]; !path.IsAbs(c.Ghosts) || path.Clean(c.Ghosts) != c.Ghosts || c.Ghosts == "/" {
		return fmt.Errorf("%q is not the path of a control group, which begins with a slash", args[0])
	}
	return nil
}

func (c *Config) squash(args []string) error {
	uid, err := number(args[0], 1, math.MaxUint32-1)
	c.Squash = uint32(uid)
	return err
}

// Bounds on the life of a certificate: shorter ones leave no time to renew them.
const (
	minCertificate = 5 * time.Second
	maxCertificate = 100 * link.DefaultLife
)

func (c *Config) certificate(args []string) (err error) {
	c.Certificate, err = time.ParseDuration(args[0])
	if err != nil || c.Certificate < minCertificate || c.Certificate > maxCertificate {
		return fmt.Errorf("%q is not a time from %v to %v, such as 8760h", args[0], minCertificate, maxCertificate)
	}
	return nil
}

func (c *Config) mode(args []string) error {
	bits, err := strconv.ParseUint(args[0], 8, 32)
	if err != nil || bits > 0o777 {
		return fmt.Errorf("%q is no mode: it is octal, such as 111", args[0])
	}
	c.Mode = uint32(bits) & 0o111
	return nil
}

func (c *Config) owner(args []string) error {
	finder := accounts.Finder{Most: 1}
	u, err := finder.User(args[0])
	c.UID, err = orNumber(u.UID, err, args[0], "user")
	return err
}

func (c *Config) group(args []string) error {
	finder := accounts.Finder{Most: 1}
	g, err := finder.Group(args[0])
	c.GID, err = orNumber(g.GID, err, args[0], "group")
	return err
}

// orNumber returns the number that was found for a name. If there is no such name, the text must be
// a number itself.
func orNumber(found uint32, err error, text, kind string) (uint32, error) {
	if !errors.Is(err, accounts.ErrUnknown) {
		return found, err
	}
	id, err := number(text, 0, math.MaxUint32-1)
	if err != nil {
		return 0, fmt.Errorf("no such %s: %s", kind, text)
	}
	return uint32(id), nil
}

func (c *Config) powerOn(args []string) error {
	c.PowerOn = args
	return nil
}

// master gives the address at which slaves find the front end, which listens there.
func (c *Config) master(args []string) error {
	host, port, err := net.SplitHostPort(args[0])
	if err != nil {
		host, port = args[0], link.DefaultPort
	}
	if host == "" || strings.ContainsAny(host, "[]/") {
		return fmt.Errorf("%q is not HOST or HOST:PORT", args[0])
	}
	return c.listen(net.JoinHostPort(host, port))
}

func (c *Config) listen(addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return fmt.Errorf("%q is not [HOST]:PORT, such as :2223", addr)
	}
	c.Listen = addr
	return nil
}

func (c *Config) socket(args []string) error {
	c.Socket = args[0]
	return absolute(c.Socket)
}

func (c *Config) port(args []string) error {
	if _, err := number(args[0], 1, 65535); err != nil {
		return err
	}
	host, _, err := net.SplitHostPort(c.Listen)
	c.Listen = net.JoinHostPort(host, args[0])
	return err
}

func (c *Config) setup(args []string) error {
	if args[0] == "none" {
		c.SetUp = ""
		return nil
	}
	c.SetUp = args[0]
	return absolute(c.SetUp)
}

func (c *Config) logs(args []string) error {
	c.Logs = args[0]
	return absolute(c.Logs)
}

func absolute(name string) error {
	if !filepath.IsAbs(name) {
		return fmt.Errorf("%q is not a path that begins with a slash", name)
	}
	return nil
}

func number(text string, low, high int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("%q is not a number from %d to %d", text, low, high)
	}
	return n, nil
}
