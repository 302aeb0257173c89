package bpctl

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"bproc/internal/accounts"
	"bproc/internal/client"
	"bproc/internal/nearest"
)

// change is one action on nodes: a change of their lines in the table, which may make them go down,
// or switching on their power.
type change struct {
	client.NodeChange
	powerOn bool
}

// actions are the changes that the command line asks for, in order.
type actions struct {
	list []change
}

// action is an option that adds a change each time it is given (pflag.Value).
type action struct {
	to    *actions
	name  string
	given []string
	parse func(string) (client.NodeChange, error)
}

func (a *actions) flag(name string, parse func(string) (client.NodeChange, error)) *action {
	return &action{to: a, name: name, parse: parse}
}

// Set adds the change.
func (a *action) Set(value string) error {
	what, err := a.parse(value)
	if err != nil {
		return err
	}
	a.given = append(a.given, value)
	a.to.list = append(a.to.list, change{NodeChange: what})
	return nil
}

// String returns what was given.
func (a *action) String() string { return strings.Join(a.given, ",") }

// Type is the word for the value in the help text.
func (a *action) Type() string { return a.name }

// plain is an option without a value that adds a change each time it is given (pflag.Value).
type plain struct {
	to     *actions
	change change
}

// add declares an option.
func (a *actions) add(f *pflag.FlagSet, name, short, usage string, what change) {
	f.VarPF(&plain{a, what}, name, short, usage).NoOptDefVal = "true"
}

// Set adds the change.
func (p *plain) Set(value string) error {
	if value != "true" {
		return errors.New("it has no value")
	}
	p.to.list = append(p.to.list, p.change)
	return nil
}

// String returns "": there is no value to show.
func (p *plain) String() string { return "" }

// Type returns the type of an option without a value.
func (p *plain) Type() string { return "bool" }

// states are the states that the front end knows (bproc(7)).
var states = []string{"down", "boot", "up", "error", "unavailable", "reboot", "halt", "pwroff"}

// toState returns a change of state.
func toState(state string) change { return change{NodeChange: client.NodeChange{State: &state}} }

// parseState parses a state. It may be any word that is not a misspelling of one of states.
func parseState(s string) (client.NodeChange, error) {
	if meant := nearest.Slip(s, states); meant != "" {
		return client.NodeChange{}, fmt.Errorf("no such state: %s; is %s meant?", s, meant)
	}
	return client.NodeChange{State: &s}, nil
}

func parseTrust(s string) (client.NodeChange, error) {
	if s != "full" && s != "limited" {
		return client.NodeChange{}, fmt.Errorf("%q is neither full nor limited", s)
	}
	return client.NodeChange{Trust: &s}, nil
}

func parseMode(s string) (client.NodeChange, error) {
	bits, err := strconv.ParseUint(s, 8, 32)
	if err != nil || bits > 0o777 {
		return client.NodeChange{}, fmt.Errorf("%s is no mode: it is octal, such as 111", s)
	}
	mode := uint32(bits) & 0o111
	return client.NodeChange{Mode: &mode}, nil
}

func parseUser(s string) (client.NodeChange, error) {
	finder := accounts.Finder{Most: 1}
	u, err := finder.User(s)
	uid, err := orID(u.UID, err, s, "user")
	return client.NodeChange{UID: uid}, err
}

func parseGroup(s string) (client.NodeChange, error) {
	finder := accounts.Finder{Most: 1}
	g, err := finder.Group(s)
	gid, err := orID(g.GID, err, s, "group")
	return client.NodeChange{GID: gid}, err
}

// orID returns the number that was found for a name. If there is no such name, the text must be a
// number itself.
func orID(found uint32, err error, given, kind string) (*uint32, error) {
	if errors.Is(err, accounts.ErrUnknown) {
		return parseID(given, kind)
	}
	if err != nil {
		return nil, err
	}
	return &found, nil
}

// parseID parses a user or group number. The largest number means "no change" to chown(2) and
// belongs to nobody.
func parseID(given, kind string) (*uint32, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(given, "#"), 10, 32)
	if err != nil || n == 1<<32-1 {
		return nil, fmt.Errorf("no such %s: %s", kind, given)
	}
	number := uint32(n)
	return &number, nil
}
