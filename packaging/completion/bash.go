package completion

import (
	"fmt"
	"strings"
)

// Bash returns the completion for bash(1). It works with bash alone, and uses _command_offset of
// package bash-completion if that exists.
func Bash(p Program) string {
	var b strings.Builder
	name := p.base()
	fmt.Fprintf(&b, "# Completion of %s for bash.\n_%s() {\n", name, name)
	b.WriteString("    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} sub= i operands=0\n    COMPREPLY=()\n")
	subs := words(p)
	fmt.Fprintf(&b, "    for ((i = 1; i < COMP_CWORD; i++)); do\n        case ${COMP_WORDS[i]} in\n")
	if valued := withValue(p); len(valued) > 0 {
		fmt.Fprintf(&b, "        %s) ((i++)) ;;\n", strings.Join(valued, "|"))
	}
	if p.Operands == NodesThenCommand { // these options replace the node operand
		b.WriteString("        -a|--all-up|-A|--all-not-down|-1|--front-end) ((operands++)) ;;\n")
	}
	if len(subs) > 0 {
		fmt.Fprintf(&b, "        %s) [ -n \"$sub\" ] || sub=${COMP_WORDS[i]} ;;\n", strings.Join(subs, "|"))
	}
	b.WriteString("        -*) ;;\n        *) ((++operands)) ;;\n        esac\n")
	if at := commandAt(p); at >= 0 { // the following words are arguments of another command
		fmt.Fprintf(&b, "        ((operands > %d)) && break\n", at)
	}
	b.WriteString("    done\n")
	for _, s := range p.Subs {
		fmt.Fprintf(&b, "    if [ \"$sub\" = %s ]; then\n", s.sub())
		bashOptions(&b, s, "        ")
		switch s.Operands {
		case Files:
			b.WriteString("        COMPREPLY=($(compgen -f -- \"$cur\"))\n")
		case Nodes: // only the first operand names nodes
			b.WriteString("        ((operands)) || COMPREPLY=($(compgen " + bashNodes + " -- \"$cur\"))\n")
		case Jobs:
			b.WriteString("        ((operands)) || COMPREPLY=($(compgen -W \"$(" + jobs + ")\" -- \"$cur\"))\n")
		default: // no other subcommand has operands
		}
		b.WriteString("        return\n    fi\n")
	}
	if at := commandAt(p); at >= 0 {
		fmt.Fprintf(&b, "    if ((operands > %d)); then\n", at)
		b.WriteString("        if declare -F _command_offset >/dev/null; then _command_offset $i; else COMPREPLY=($(compgen -f -- \"$cur\")); fi\n        return\n    fi\n")
	}
	bashOptions(&b, p, "    ")
	bashOperands(&b, p, subs)
	fmt.Fprintf(&b, "}\ncomplete -F _%s %s\n", name, name)
	return b.String()
}

// bashOptions completes options and their values.
func bashOptions(b *strings.Builder, p Program, indent string) {
	b.WriteString(indent + "case $prev in\n")
	for _, o := range p.Options {
		if o.Value != "" {
			fmt.Fprintf(b, "%s%s) %s; return ;;\n", indent, strings.Join(o.names(), "|"), bashValue(o.Value))
		}
	}
	b.WriteString(indent + "esac\n")
	var names []string
	for _, o := range p.Options {
		names = append(names, o.names()...)
	}
	fmt.Fprintf(b, "%sif [ \"${cur#-}\" != \"$cur\" ]; then\n%s    COMPREPLY=($(compgen -W '%s' -- \"$cur\"))\n%s    return\n%sfi\n", indent, indent, strings.Join(names, " "), indent, indent)
}

func bashValue(kind string) string {
	reply := func(how string) string { return "COMPREPLY=($(compgen " + how + " -- \"$cur\"))" }
	switch kind {
	case "file":
		return reply("-f")
	case "directory":
		return reply("-d")
	case "user":
		return reply("-u")
	case "group":
		return reply("-g")
	case "state":
		return reply("-W '" + states + "'")
	case "level":
		return reply("-W '" + levels + "'")
	case "trust":
		return reply("-W '" + trusts + "'")
	case "when":
		return reply("-W '" + whens + "'")
	case "nodes":
		return reply("-W \"$(" + nodes + ")\"")
	}
	return ":"
}

// bashOperands completes operands.
func bashOperands(b *strings.Builder, p Program, subs []string) {
	line := func(cond, how string) {
		fmt.Fprintf(b, "    %sCOMPREPLY=($(compgen %s -- \"$cur\"))\n", cond, how)
	}
	switch p.Operands {
	case NodesThenCommand:
		b.WriteString("    if ((operands == 1)); then\n")
		b.WriteString("        COMPREPLY=($(compgen -c -- \"$cur\"))\n        return\n    fi\n")
		line("", bashNodes)
	case Nodes:
		line("", bashNodes)
	case Command:
		line("", "-c")
	case Directory:
		line("", "-d")
	case NodeFiles: // the text after a colon is a word of its own
		line("", "-f -W \"$("+colons+") all: up:\"")
	case Host:
		line("", "-A hostname")
	case None, Files, Jobs:
		if len(subs) > 0 {
			line("", "-W '"+strings.Join(subs, " ")+"'")
		}
	}
}

const bashNodes = "-W \"$(" + nodes + ") all up down\""

// commandAt returns the number of operands before the one that is another command, or -1.
func commandAt(p Program) int {
	switch p.Operands {
	case NodesThenCommand:
		return 1
	case Command:
		return 0
	default:
		return -1
	}
}

// words returns the names of subcommands.
func words(p Program) (subs []string) {
	for _, s := range p.Subs {
		subs = append(subs, s.sub())
	}
	return subs
}

// withValue returns the names of options that take a value.
func withValue(p Program) (names []string) {
	for _, o := range p.Options {
		if o.Value != "" {
			names = append(names, o.names()...)
		}
	}
	return names
}
