package completion

import (
	"fmt"
	"strings"
)

// Fish returns the completion for fish(1).
func Fish(p Program) string {
	var b strings.Builder
	name := p.base()
	fmt.Fprintf(&b, "# Completion of %s for fish.\n", name)
	always := ""
	if len(p.Subs) > 0 {
		always = "not __fish_seen_subcommand_from " + strings.Join(words(p), " ")
		fmt.Fprintf(&b, "complete -c %s -f -n '%s' -a '%s'\n", name, always, strings.Join(words(p), " "))
	}
	switch p.Operands {
	case NodesThenCommand:
		fmt.Fprintf(&b, "complete -c %s -f -n __fish_is_first_token -a '(%s) all up down'\n", name, nodes)
		fmt.Fprintf(&b, "complete -c %s -n 'not __fish_is_first_token' -a '(__fish_complete_subcommand --fcs-skip=2)'\n", name)
		always = "test (count (commandline -opc)) -lt 2; or string match -q -- '-*' (commandline -opc)[-1]"
	case Nodes:
		fmt.Fprintf(&b, "complete -c %s -f -a '(%s) all up down'\n", name, nodes)
	case Command:
		fmt.Fprintf(&b, "complete -c %s -f -a '(__fish_complete_subcommand)'\n", name)
	case Directory:
		fmt.Fprintf(&b, "complete -c %s -f -a '(__fish_complete_directories)'\n", name)
	case NodeFiles:
		fmt.Fprintf(&b, "complete -c %s -a "+fishQuote("("+colons+") all: up:")+"\n", name)
	case Host:
		fmt.Fprintf(&b, "complete -c %s -f -a '(__fish_print_hostnames)'\n", name)
	case None:
		fmt.Fprintf(&b, "complete -c %s -f\n", name)
	case Files, Jobs: // the default of fish, and of subcommands only
	}
	fishOptions(&b, p, always)
	for _, s := range p.Subs {
		when := "__fish_seen_subcommand_from " + s.sub()
		switch s.Operands {
		case Files:
			fmt.Fprintf(&b, "complete -c %s -n '%s' -F\n", name, when)
		case Nodes:
			fmt.Fprintf(&b, "complete -c %s -n '%s' -f -a '(%s) all up down'\n", name, when, nodes)
		case Jobs:
			fmt.Fprintf(&b, "complete -c %s -n '%s' -f -a "+fishQuote("("+jobs+")")+"\n", name, when)
		default: // no other subcommand has operands
		}
		fishOptions(&b, s, when)
	}
	return b.String()
}

func fishOptions(b *strings.Builder, p Program, when string) {
	for _, o := range p.Options {
		fmt.Fprintf(b, "complete -c %s", p.base())
		if when != "" {
			fmt.Fprintf(b, " -n %s", fishQuote(when))
		}
		if o.Short != "" {
			fmt.Fprintf(b, " -s %s", o.Short)
		}
		fmt.Fprintf(b, " -l %s -d %s", o.Long, fishQuote(o.Text))
		if o.Value != "" {
			b.WriteString(" -r" + fishValue(o.Value))
		}
		b.WriteString("\n")
	}
}

func fishValue(kind string) string {
	switch kind {
	case "file":
		return " -F"
	case "directory":
		return " -f -a '(__fish_complete_directories)'"
	case "user":
		return " -f -a '(__fish_complete_users)'"
	case "group":
		return " -f -a '(__fish_complete_groups)'"
	case "state":
		return " -f -a '" + states + "'"
	case "level":
		return " -f -a '" + levels + "'"
	case "trust":
		return " -f -a '" + trusts + "'"
	case "when":
		return " -f -a '" + whens + "'"
	case "nodes":
		return " -f -a '(" + nodes + ")'"
	}
	return " -f"
}

func fishQuote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}
