package completion

import (
	"regexp"
	"strings"
)

// Operands is the kind of a command's operands.
type Operands int

const (
	None Operands = iota
	Nodes
	NodesThenCommand
	Command
	Directory
	Host
	NodeFiles // files, also of nodes: 3:/tmp/x
	Files
	Jobs
)

// operands maps each command to the kind of its operands.
var operands = map[string]Operands{
	"bpsh": NodesThenCommand, "bprsh": NodesThenCommand, "bpstat": Nodes, "bpcp": NodeFiles, "bpjob check": Files, "bpns": Command, "bpprocfs": Directory, "bpslave": Host,
	"bpctl drain": Nodes, "bpctl undrain": Nodes, "bpctl tag": Nodes, "bpctl untag": Nodes, "bpctl log": Nodes, "bpctl revoke": Nodes,
	"bpjob start": Jobs, "bpjob stop": Jobs, "bpjob restart": Jobs, "bpjob run": Jobs, "bpjob pid": Jobs, "bpjob status": Jobs, "bpjob logs": Jobs, "bpjob shell": Jobs, "bpjob trace": Jobs,
}

// Option is an option of a command.
type Option struct {
	Short, Long string // without dashes; Short may be empty
	Value       string // kind of the option's value, in a word; empty: none
	Text        string
}

// Program is a command, or a subcommand.
type Program struct {
	Name     string // of a subcommand: "bpctl enroll"
	Options  []Option
	Operands Operands
	Subs     []Program
}

var (
	optionLine = regexp.MustCompile(`(?m)^ +(?:-(\w), )?--([\w-]+)(?: (\S+))?  +(.*)$`)
	subLine    = regexp.MustCompile(`(?m)^  ([a-z][\w-]*) {2,}\S`)
	defaults   = regexp.MustCompile(` \(default.*\)$`)
)

// Parse returns the command with a given help text. It calls ask for the help of subcommands.
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

// base returns the name of the command's program.
func (p *Program) base() string {
	name, _, _ := strings.Cut(p.Name, " ")
	return name
}

// sub returns the name of a subcommand without the program.
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

// Values of options and operands of each kind. Commands print nodes and jobs.
const (
	states = "up down boot unavailable error reboot halt pwroff"
	levels = "debug info warn error"
	trusts = "limited full"
	whens  = "auto always never"
	nodes  = "timeout 2 bpstat -n 2>/dev/null"
	colons = nodes + " | sed 's/$/:/'"
	jobs   = `timeout 2 bpjob list --json 2>/dev/null | sed -n 's/^ *"job": "\(.*\)",$/\1/p' | sort -u`
)
