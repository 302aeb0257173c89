package completion

import (
	"regexp"
	"strings"
)

// Operands says what the operands of a command are.
type Operands int

const (
	None Operands = iota
	Nodes
	NodesThenCommand
	Command
	Directory
	Host
	NodeFiles // files, of nodes too: 3:/tmp/x
	Files
)

// operands has those of each command.
var operands = map[string]Operands{
	"bpsh": NodesThenCommand, "bprsh": NodesThenCommand, "bpstat": Nodes, "bpcp": NodeFiles, "bpjob check": Files, "bpns": Command, "bpprocfs": Directory, "bpslave": Host,
	"bpctl drain": Nodes, "bpctl undrain": Nodes, "bpctl tag": Nodes, "bpctl untag": Nodes, "bpctl log": Nodes, "bpctl revoke": Nodes,
}

// Option is an option of a command.
type Option struct {
	Short, Long string // without "-"; there may be no short one
	Value       string // what the option takes, in a word; empty: nothing
	Text        string
}

// Program is a command, or a subcommand.
type Program struct {
	Name     string // of a subcommand too: "bpctl enroll"
	Options  []Option
	Operands Operands
	Subs     []Program
}

var (
	optionLine = regexp.MustCompile(`(?m)^ +(?:-(\w), )?--([\w-]+)(?: (\S+))?  +(.*)$`)
	subLine    = regexp.MustCompile(`(?m)^  ([a-z][\w-]*) {2,}\S`)
	defaults   = regexp.MustCompile(` \(default.*\)$`)
)

// Parse returns the command whose help this is. The help of its subcommands is asked for.
func Parse(name, help string, ask func(sub string) (string, error)) (Program, error) {
	p := Program{Name: name, Operands: operands[name]}
	for _, m := range optionLine.FindAllStringSubmatch(help, -1) {
		p.Options = append(p.Options, Option{Short: m[1], Long: m[2], Value: m[3], Text: defaults.ReplaceAllString(m[4], "")})
	}
	_, subs, _ := strings.Cut(help, "\nAvailable Commands:\n")
	subs, _, _ = strings.Cut(subs, "\n\n")
	for _, m := range subLine.FindAllStringSubmatch(subs, -1) {
		help, err := ask(m[1])
		if err != nil {
			return p, err
		}
		sub, err := Parse(name+" "+m[1], help, ask)
		if err != nil {
			return p, err
		}
		p.Subs = append(p.Subs, sub)
	}
	return p, nil
}

// base returns the name by which shells know the command.
func (p *Program) base() string {
	name, _, _ := strings.Cut(p.Name, " ")
	return name
}

// sub returns the name of a subcommand, without that of the command.
func (p *Program) sub() string {
	_, name, _ := strings.Cut(p.Name, " ")
	return name
}

// names returns the options as they are typed: "-n", "--no-input".
func (o *Option) names() (names []string) {
	if o.Short != "" {
		names = append(names, "-"+o.Short)
	}
	return append(names, "--"+o.Long)
}

// The values that options and operands of each kind take; for nodes, a command prints them.
const (
	states = "up down boot unavailable error reboot halt pwroff"
	levels = "debug info warn error"
	nodes  = "timeout 2 bpstat -n 2>/dev/null"
	colons = nodes + " | sed 's/$/:/'"
)
